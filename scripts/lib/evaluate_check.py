# SPDX-License-Identifier: MIT
"""Is a run's result right? A run whose check fails is no run. Pure."""
from evaluate_plan import ITERATIONS

MINED = ("transactions", "min_count", "itemsets", "by_size", "support_sums")


def check(cell, system, run, mined):
    """What is wrong with it, or None. @mined: what another miner found, or an earlier run."""
    app = cell.stage.app
    found = {"synthetic": check_synthetic, "dmine": check_dmine, "lu": check_lu}[app](cell, system, run, mined)
    if found:
        return found
    if system == "disk" and run["remote_bytes"] > 0:
        return "a run with the disk alone had bytes from remote memory"
    if system != "disk" and run["regions_failed"]:
        return f"{run['regions_failed']} regions could not be opened"
    return None


def check_synthetic(cell, _, run, __):
    wanted = -(-cell.data // cell.request) * ITERATIONS
    if run["errors"] or run["wrong_bytes"]:
        return f"{run['wrong_bytes']} bytes are wrong"
    if run["requests"] != wanted or run["verified_bytes"] != ITERATIONS * cell.data:
        return f"{run['requests']} requests, {run['verified_bytes']} bytes verified, not {wanted} requests"
    came = run["local_bytes"] + run["remote_bytes"] + run["file_bytes"]
    if came != run["verified_bytes"]:
        return f"{came} bytes came from somewhere, {run['verified_bytes']} were read"
    return None


def check_dmine(_, __, run, mined):
    wrong = [k for k in MINED if run[k] != mined.get(k, run[k])]
    if wrong:
        return f"{wrong[0]} is {run[wrong[0]]}, and ought to be {mined[wrong[0]]}"
    return "it found nothing" if run["itemsets"] < 1 else None


def check_lu(_, __, run, ___):
    if run["errors"] or run["residual"] is None or run["residual"] >= run["residual_max"]:
        return f"the scaled residual is {run['residual']}"
    came = run["local_bytes"] + run["remote_bytes"] + run["file_bytes"]
    if came != run["read_bytes"]:
        return f"{came} bytes came from somewhere, {run['read_bytes']} were read"
    return None
