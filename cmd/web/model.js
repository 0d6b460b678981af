// SPDX-License-Identifier: MIT
// What the page knows: answers of the manager in, rates, histories and words out. Touches no document.

const WINDOW_MS = 20000; // rates are over so long: hosts report every few seconds
const HISTORY_MS = 30 * 60 * 1000;
const CHART_MS = 10 * 60 * 1000;
const EVENTS_MAX = 1200;
const COUNTED = ['read_bytes', 'write_bytes', 'fill_bytes', 'reads', 'reads_unfilled'];

// ---- words ----------------------------------------------------------------------------------------------------------

export function bytes(n) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
  let unit = 0;
  for (; n >= 1024 && unit < units.length - 1; unit++) n /= 1024;
  return (unit === 0 || n >= 100 ? Math.round(n) : n.toFixed(1)) + ' ' + units[unit];
}

export const rate = (n) => (n === null ? '–' : bytes(n) + '/s');
export const count = (n) => n.toLocaleString('en-US');
export const share = (n) => (n === null ? '–' : (n >= 0.9995 ? '100' : (100 * n).toFixed(1)) + ' %');

export function span(ms) {
  const s = Math.floor(ms / 1000);
  if (s < 60) return s + ' s';
  if (s < 3600) return Math.floor(s / 60) + ' min';
  if (s < 86400) return Math.floor(s / 3600) + ' h ' + Math.floor((s % 3600) / 60) + ' min';
  return Math.floor(s / 86400) + ' d ' + Math.floor((s % 86400) / 3600) + ' h';
}

const plural = (n, one, many) => count(n) + ' ' + (n === 1 ? one : many);
export const regions = (n) => plural(n, 'region', 'regions');

export const stateWord = (h) => (h.set_aside && h.state === 'idle' ? 'set aside' : h.state === 'idle' ? 'lends' : h.state);

// Why a host lends or does not, in a sentence.
export function why(h) {
  const reason = h.reason ? ': ' + h.reason : '';
  if (h.state === 'busy') return 'It does not lend, its owner needs it' + (reason || '; its monitor gives no reason') + '.';
  if (h.state === 'silent') return 'It is not heard, and gets no new regions. If it stays silent, the manager drops it.';
  if (h.draining && h.state === 'leaving') return 'An operator takes it out of service, it gets no new regions' + reason + '.';
  if (h.state === 'leaving') return 'It has said good-bye: its memory is being given back' + reason + '.';
  if (h.set_aside) return 'It lends, but gets no new regions for a while: a program has reported it, see its events.';
  return 'It lends its memory' + reason + '.';
}

const EVENT_WORDS = {
  manager_started: 'manager started', host_joined: 'host joined', host_left: 'host left', host_lost: 'host lost',
  host_busy: 'owner is back', host_idle: 'owner is away', host_reported: 'host reported', monitor_lost: 'monitor lost',
  regions_lost: 'regions lost', client_came: 'program came', client_left: 'program left', client_lost: 'program lost',
  stranger: 'stranger', manager_standby: 'manager stands by',
};
// Tools know no kind for a drain (dodo drain): its reason tells it from what the owner does.
const isDrain = (e) => e.reason.startsWith('drain ');
export const eventWord = (e) => (isDrain(e) ? 'drain' : EVENT_WORDS[e.kind] || e.kind.replaceAll('_', ' '));
export const isBad = (kind) => ['host_lost', 'host_reported', 'monitor_lost', 'regions_lost', 'stranger'].includes(kind);

// ---- hosts ----------------------------------------------------------------------------------------------------------

// A host by its address without the port, so that its imd and its monitor are one. On loopback, where
// all have one address, ports tell them apart.
export function hostKey(address) {
  const end = address.lastIndexOf(':');
  const host = end > address.lastIndexOf(']') ? address.slice(0, end) : address;
  return host.startsWith('127.') || host === '[::1]' ? address : host;
}

function difference(samples) {
  const first = samples[0], last = samples[samples.length - 1];
  const seconds = (last.at - first.at) / 1000;
  if (seconds <= 0) return null;
  const d = { seconds };
  for (const name of COUNTED) d[name] = Math.max(0, last[name] - first[name]);
  return d;
}

class Host {
  constructor(key) {
    this.key = key;
    this.samples = []; // of one imd
    this.epoch = '';
    this.rates = null;
    this.history = []; // {at, state}, the oldest first
  }

  sample(now, h) {
    if (h.epoch !== this.epoch) this.samples = [];
    this.epoch = h.epoch || '';
    if (h.read_bytes === undefined) { this.rates = null; return; }
    const s = { at: now };
    for (const name of COUNTED) s[name] = h[name];
    this.samples.push(s);
    while (this.samples.length > 2 && now - this.samples[1].at >= WINDOW_MS) this.samples.shift();
    this.rates = difference(this.samples);
  }

  // What it was from then on. Events tell of times before we looked.
  note(at, state) {
    const h = this.history;
    let i = h.length;
    while (i > 0 && h[i - 1].at > at) i--;
    if (i > 0 && h[i - 1].state === state) return;
    h.splice(i, 0, { at, state });
    if (i + 1 < h.length && h[i + 1].state === state) h.splice(i + 1, 1);
  }

  forget(before) {
    while (this.history.length > 1 && this.history[1].at <= before) this.history.shift();
  }
}

// ---- all ------------------------------------------------------------------------------------------------------------

export class Model {
  constructor() {
    this.clear('');
  }

  clear(instance) {
    this.instance = instance;
    this.hosts = new Map(); // by hostKey
    this.rows = []; // the last status, each with .known
    this.cluster = null;
    this.clients = null;
    this.uptime = 0;
    this.standby = false;
    this.events = []; // the oldest first
    this.last = 0;
    this.chart = []; // {at, read, write, fill}
    this.sum = null;
  }

  // Another start of the manager: what it says has nothing to do with what was said before.
  checkInstance(instance) {
    if (this.instance && this.instance !== instance) this.clear(instance);
    this.instance = instance;
  }

  host(address) {
    const key = hostKey(address);
    if (!this.hosts.has(key)) this.hosts.set(key, new Host(key));
    return this.hosts.get(key);
  }

  // All answers of one status, and the time at which they came.
  takeStatus(answers, now) {
    this.checkInstance(answers[0].instance);
    const { cluster, uptime_ms: uptime, version, active } = answers[0];
    Object.assign(this, { cluster, uptime, version, standby: active === false, clients: answers[0].clients || null });
    const seen = new Set();
    this.rows = answers.flatMap((a) => a.hosts);
    for (const h of this.rows) {
      h.known = this.host(h.address);
      h.known.sample(now, h);
      if (!seen.has(h.known)) h.known.note(now, h.state);
      seen.add(h.known);
    }
    for (const [key, known] of this.hosts) {
      if (!seen.has(known)) { known.note(now, 'gone'); known.rates = null; }
      known.forget(now - HISTORY_MS);
      if (known.history.length === 1 && known.history[0].state === 'gone' && !seen.has(known)
        && known.history[0].at < now - HISTORY_MS) this.hosts.delete(key);
    }
    this.addUp(now);
  }

  addUp(now) {
    const sum = { read: 0, write: 0, fill: 0, reads: 0, unfilled: 0, any: false };
    for (const h of this.rows) {
      const r = h.known.rates;
      if (!r) continue;
      sum.any = true;
      sum.read += r.read_bytes / r.seconds;
      sum.write += r.write_bytes / r.seconds;
      sum.fill += r.fill_bytes / r.seconds;
      sum.reads += r.reads;
      sum.unfilled += r.reads_unfilled;
    }
    sum.hits = sum.reads > 0 ? 1 - sum.unfilled / sum.reads : null;
    this.sum = sum;
    if (sum.any) this.chart.push({ at: now, read: sum.read, write: sum.write, fill: sum.fill });
    while (this.chart.length && this.chart[0].at < now - CHART_MS) this.chart.shift();
  }

  // An answer of /events. True: there are more.
  takeEvents(answer, now) {
    this.checkInstance(answer.instance);
    const before = this.last;
    for (const e of answer.events) {
      if (e.number <= this.last) continue;
      this.last = e.number;
      e.at = now - e.age_ms;
      this.events.push(e);
      this.noteEvent(e);
    }
    if (this.events.length > EVENTS_MAX) this.events.splice(0, this.events.length - EVENTS_MAX);
    return this.last > before && this.last < answer.last;
  }

  noteEvent(e) {
    const states = { host_joined: 'idle', host_left: 'gone', host_lost: 'gone', host_busy: 'busy' };
    if (states[e.kind] && e.address && !isDrain(e)) this.host(e.address).note(e.at, states[e.kind]);
  }

  eventsOf(key) {
    return this.events.filter((e) => e.address && hostKey(e.address) === key);
  }
}

// The share of the last 30 minutes in each state; of "unknown", too.
export function shares(history, now) {
  const sums = { unknown: 0 };
  const start = now - HISTORY_MS;
  let at = start, state = 'unknown';
  for (const h of [...history, { at: now, state: '' }]) {
    const until = Math.max(start, h.at);
    sums[state] = (sums[state] || 0) + (until - at) / HISTORY_MS;
    at = until;
    state = h.state;
  }
  return sums;
}

export const usedBytes = (h) => Math.max(0, (h.pool_bytes || 0) - (h.free_bytes || 0));
export function hitShare(h) {
  const r = h.known.rates;
  return r && r.reads > 0 ? 1 - r.reads_unfilled / r.reads : null;
}

const per = (h, name) => (h.known.rates ? h.known.rates[name] / h.known.rates.seconds : -1);
export const COLUMNS = [
  { name: 'Host', of: (h) => h.address },
  { name: 'State', of: (h) => ['busy', 'silent', 'leaving', 'idle'].indexOf(h.state) + h.reason },
  { name: 'Last 30 min' },
  { name: 'Lent', of: (h) => h.pool_bytes || 0, num: true },
  { name: 'In use', of: usedBytes, num: true },
  { name: 'Regions', of: (h) => h.regions || 0, num: true },
  { name: 'Read', of: (h) => per(h, 'read_bytes'), num: true },
  { name: 'Written', of: (h) => per(h, 'write_bytes'), num: true },
  { name: 'Filled', of: (h) => per(h, 'fill_bytes'), num: true },
  { name: 'Answered', of: (h) => hitShare(h) ?? -1, num: true },
];

// @order: {column, down}; null: the manager's.
export function select(rows, text, only, order) {
  const words = text.trim().toLowerCase();
  const found = rows.filter((h) => (!only || h.state === only)
    && (!words || (h.address + ' ' + h.reason).toLowerCase().includes(words)));
  if (order) {
    const { of } = COLUMNS[order.column], sign = order.down ? -1 : 1;
    const keys = new Map(found.map((h) => [h, of(h)]));
    const compare = (a, b) => (typeof a === 'string' ? a.localeCompare(b, 'en', { numeric: true }) : a - b);
    found.sort((a, b) => sign * compare(keys.get(a), keys.get(b)));
  }
  return found;
}

export const times = { HISTORY_MS, CHART_MS };
