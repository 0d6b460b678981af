/* SPDX-License-Identifier: MIT */
/* What an operator and clients say when hosts are taken out of service. */
#ifndef DODO_TESTS_CMD_FIXTURE_DRAIN_H
#define DODO_TESTS_CMD_FIXTURE_DRAIN_H

#include "tests/unit/cmd_fixture.h"

/* The request's id. */
uint64_t drain_send(Rig *rig, const OpDrain *op);
/* The others are answered with OK. */
OpDrainReply drain_reply(const Rig *rig, uint64_t id);
OpDrainReply drain_with(Rig *rig, const FakeImd *imd, enum DrainWhat what, bool drop,
                        uint64_t rate);
OpDrainReply drain(Rig *rig, const FakeImd *imd, enum DrainWhat what);
OpMovesReply moves(Rig *rig, FakeClient *c, uint64_t left, uint64_t copied, uint32_t refused);
uint32_t alive_flags(Rig *rig, FakeClient *c);
RegionAddress opened(Rig *rig, FakeClient *c, const OpOpen *open);
uint64_t epoch_of(const FakeImd *imd);

#endif
