// SPDX-License-Identifier: MIT
// The page: asks the manager every two seconds, and shows what the model makes of it.
import * as m from './model.js';

const EVERY_MS = 2000, HIDDEN_MS = 10000, TIMEOUT_MS = 10000;
const PAGES_MAX = 2100; // of one status: more hosts than a manager can have
const ROW = 34, SPARE = 8;
const EVENTS_SHOWN = 200, CLIENTS_SHOWN = 100;

const model = new m.Model();
const $ = (id) => document.getElementById(id);
const view = { rows: [], order: null, active: 0, chosen: null, heard: 0, trouble: '' };

function make(tag, text, className) {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  if (className) e.className = className;
  return e;
}

// Only what differs is touched.
function say(e, text) {
  if (e.textContent !== text) e.textContent = text;
}

function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
}
let colors = {};
function takeColors() {
  for (const name of ['idle', 'busy', 'silent', 'leaving', 'gone', 'read', 'write', 'fill', 'line', 'soft'])
    colors[name] = color(name);
}

// ---- the manager ----------------------------------------------------------------------------------------------------

async function ask(path) {
  const answer = await fetch(path, { cache: 'no-store', signal: AbortSignal.timeout(TIMEOUT_MS) });
  if (answer.status === 401) throw new Error('the manager wants its token: load this page again');
  if (!answer.ok) throw new Error('the manager answers ' + answer.status);
  return answer.json();
}

async function askStatus() {
  const answers = [];
  let next = '0';
  do {
    answers.push(await ask('/status' + (next === '0' ? '' : '?since=' + next)));
    next = answers[answers.length - 1].next;
  } while (next !== '0' && answers.length < PAGES_MAX);
  return answers;
}

async function look() {
  try {
    model.takeStatus(await askStatus(), Date.now());
    while (model.takeEvents(await ask('/events?since=' + model.last), Date.now()));
    view.heard = Date.now();
    view.trouble = '';
  } catch (error) {
    view.trouble = error instanceof TypeError || error.name === 'TimeoutError' ? 'the manager does not answer'
      : error.message;
  }
  show();
  setTimeout(look, document.hidden ? HIDDEN_MS : EVERY_MS);
}

// ---- summary --------------------------------------------------------------------------------------------------------

const clock = (at) => new Date(at).toLocaleTimeString('en-GB');
function when(at) {
  const d = new Date(at), two = (n) => String(n).padStart(2, '0');
  return d.toDateString() === new Date().toDateString() ? clock(at)
    : two(d.getMonth() + 1) + '-' + two(d.getDate()) + ' ' + clock(at);
}

function showState() {
  const e = $('state');
  e.classList.toggle('bad', !!view.trouble);
  if (view.trouble && view.heard)
    say(e, `Stale: ${view.trouble}. This is how it was at ${clock(view.heard)}.`);
  else if (view.trouble)
    say(e, `Nothing to show: ${view.trouble}.`);
  else if (model.cluster)
    say(e, `${model.standby ? 'This manager stands by, another one is active:' : 'Manager up'} ${m.span(model.uptime)}, version ${model.version}`);
}

function showTiles() {
  const c = model.cluster, s = model.sum;
  if (!c) return;
  const used = Math.max(0, c.pool_bytes - c.free_bytes);
  say($('t-used'), m.bytes(used));
  say($('t-lent'), c.pool_bytes ? `of ${m.bytes(c.pool_bytes)} that hosts lend, ${m.bytes(c.free_bytes)} free`
    : 'No host lends memory.');
  $('t-bar').style.width = (c.pool_bytes ? 100 * used / c.pool_bytes : 0) + '%';
  say($('t-hosts'), m.count(c.idle));
  say($('t-states'), `${m.count(c.busy)} busy, ${m.count(c.silent)} silent, ${m.count(c.leaving)} leaving`);
  say($('t-hits'), m.share(s.hits));
  say($('t-reads'), s.reads > 0 ? `of ${m.count(s.reads)} reads lately found all in remote memory` : 'No reads lately.');
  say($('t-clients'), m.count(c.clients));
  say($('t-opens'), c.opens_failed + c.opens_refused > 0
    ? `${m.count(c.opens_failed)} requests found no room, ${m.count(c.opens_refused)} over the share`
    : 'No request was refused.');
  say($('t-regions'), m.count(c.regions));
  say($('t-kept'), `${m.count(c.retained_regions)} kept for the next run`);
  for (const name of ['read', 'write', 'fill']) say($('r-' + name), m.rate(s.any ? s[name] : null));
}

// ---- drawings -------------------------------------------------------------------------------------------------------

function prepare(canvas, width, height) {
  const scale = window.devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
  }
  const c = canvas.getContext('2d');
  c.setTransform(scale, 0, 0, scale, 0, 0);
  c.clearRect(0, 0, width, height);
  return c;
}

// The next of 1, 2, 5, 10, ... of a unit of 1024.
function roundUp(n) {
  let unit = 1;
  while (n > unit * 1000) unit *= 1024;
  for (const k of [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]) if (n <= k * unit) return k * unit;
  return n;
}

function drawChart() {
  const canvas = $('chart'), none = model.chart.length === 0;
  canvas.hidden = none;
  $('chart-none').hidden = !none;
  const width = canvas.clientWidth, height = canvas.clientHeight;
  if (!width) return;
  const c = prepare(canvas, width, height), now = Date.now(), left = 78, bottom = 20, top = 8;
  const most = roundUp(Math.max(1024, ...model.chart.map((p) => Math.max(p.read, p.write, p.fill))));
  const x = (at) => left + (width - left - 2) * (1 - (now - at) / m.times.CHART_MS);
  const y = (n) => height - bottom - (height - bottom - top) * n / most;
  c.font = '12px system-ui, "DejaVu Sans", sans-serif';
  c.fillStyle = colors.soft;
  c.strokeStyle = colors.line;
  c.lineWidth = 1;
  c.setLineDash([]);
  c.textAlign = 'right';
  c.textBaseline = 'middle';
  for (const part of [0, 0.5, 1]) {
    c.fillText(part ? m.rate(most * part) : '0', left - 8, y(most * part));
    c.beginPath();
    c.moveTo(left, Math.round(y(most * part)) + 0.5);
    c.lineTo(width, Math.round(y(most * part)) + 0.5);
    c.stroke();
  }
  c.textBaseline = 'alphabetic';
  for (const minutes of width > 600 ? [10, 8, 6, 4, 2, 0] : [10, 5, 0]) {
    c.textAlign = minutes === 10 ? 'left' : minutes ? 'center' : 'right';
    c.fillText(minutes ? `${minutes} min ago` : 'now', x(now - minutes * 60000), height - 4);
  }
  c.lineWidth = 2;
  c.lineJoin = 'round';
  for (const [name, dash] of [['fill', [2, 3]], ['write', [6, 3]], ['read', []]]) {
    c.strokeStyle = colors[name];
    c.setLineDash(dash);
    c.beginPath();
    model.chart.forEach((p, i) => (i ? c.lineTo(x(p.at), y(p[name])) : c.moveTo(x(p.at), y(p[name]))));
    c.stroke();
  }
  const s = model.sum;
  canvas.setAttribute('aria-label', 'Traffic of the last ten minutes; now: ' + (s && s.any
    ? `read ${m.rate(s.read)}, written ${m.rate(s.write)}, filled ${m.rate(s.fill)}` : 'none known'));
}

const HEIGHTS = { idle: 1, busy: 0.65, leaving: 0.4, silent: 0.4, gone: 0.12 };
function drawStrip(canvas, history, now) {
  const width = 128, height = 18, c = prepare(canvas, width, height);
  const x = (at) => Math.max(0, width * (1 - (now - at) / m.times.HISTORY_MS));
  history.forEach((h, i) => {
    const from = x(h.at), to = i + 1 < history.length ? x(history[i + 1].at) : width;
    const tall = height * (HEIGHTS[h.state] || 0);
    c.fillStyle = colors[h.state] || colors.gone;
    c.fillRect(from, height - tall, Math.max(to - from, 1), tall);
  });
}

function stripWords(history, now) {
  const words = { idle: 'lends', busy: 'busy', leaving: 'leaving', silent: 'silent', gone: 'not there', unknown: 'unknown' };
  return Object.entries(m.shares(history, now)).filter(([, part]) => part >= 0.005)
    .map(([state, part]) => `${words[state]} ${Math.round(100 * part)} %`).join(', ');
}

// ---- hosts ----------------------------------------------------------------------------------------------------------
// A row is made when it comes into view; as many are there as fit, however many hosts there are.

const rows = [];

function makeTop() {
  const top = document.querySelector('.row.top');
  m.COLUMNS.forEach((column, i) => {
    const cell = make('span', undefined, column.num ? 'num' : '');
    cell.setAttribute('role', 'columnheader');
    if (column.of) {
      const button = make('button', column.name);
      button.type = 'button';
      button.addEventListener('click', () => sortBy(i));
      cell.append(button);
    } else {
      cell.append(make('span', column.name, 'sub'));
    }
    top.append(cell);
  });
}

function sortBy(column) {
  const same = view.order && view.order.column === column;
  const first = m.COLUMNS[column].num === true; // numbers: the greatest first
  if (same && view.order.down !== first) view.order = null;
  else view.order = { column, down: same ? !first : first };
  document.querySelectorAll('.row.top > span').forEach((cell, i) => {
    if (view.order && view.order.column === i)
      cell.setAttribute('aria-sort', view.order.down ? 'descending' : 'ascending');
    else cell.removeAttribute('aria-sort');
  });
  showHosts();
}

function makeRow() {
  const row = make('div', undefined, 'row');
  row.setAttribute('role', 'row');
  const cells = m.COLUMNS.map((column) => {
    const cell = make('span', undefined, column.num ? 'num' : '');
    cell.setAttribute('role', 'gridcell');
    row.append(cell);
    return cell;
  });
  const tag = make('span'), why = make('span', undefined, 'why');
  cells[1].append(tag);
  why.setAttribute('role', 'gridcell');
  why.setAttribute('aria-colspan', m.COLUMNS.length - 3);
  row.append(why);
  const canvas = make('canvas');
  canvas.setAttribute('role', 'img');
  cells[2].append(canvas);
  const bar = make('span', undefined, 'bar'), fill = make('span'), used = make('span');
  bar.append(fill);
  cells[4].classList.add('use');
  cells[4].append(bar, used);
  row.addEventListener('click', () => { view.active = row.index; choose(view.rows[row.index]); });
  $('window').append(row);
  return { row, cells, tag, why, canvas, fill, used };
}

function fillRow(r, i, now) {
  const h = view.rows[i], k = h.known.rates, lends = h.pool_bytes !== undefined, per = (n) => m.rate(k ? k[n] / k.seconds : null);
  r.row.index = i;
  r.row.id = 'host-' + i;
  r.row.style.top = i * ROW + 'px';
  r.row.setAttribute('aria-rowindex', i + 2);
  r.row.classList.toggle('on', i === view.active);
  r.row.setAttribute('aria-selected', view.chosen === h.address);
  say(r.cells[0], h.address);
  r.tag.className = 'tag ' + (h.set_aside ? 'silent' : h.state);
  say(r.tag, m.stateWord(h));
  r.row.title = h.reason;
  r.cells.forEach((cell, column) => { cell.hidden = column > 2 && !lends; });
  r.why.hidden = lends;
  if (!lends) say(r.why, h.reason || 'its monitor gives no reason');
  drawStrip(r.canvas, h.known.history, now);
  r.canvas.setAttribute('aria-label', stripWords(h.known.history, now));
  if (!lends) return;
  say(r.cells[3], m.bytes(h.pool_bytes));
  r.fill.style.width = (h.pool_bytes ? 100 * m.usedBytes(h) / h.pool_bytes : 0) + '%';
  say(r.used, m.bytes(m.usedBytes(h)));
  say(r.cells[5], m.count(h.regions));
  ['read_bytes', 'write_bytes', 'fill_bytes'].forEach((n, j) => say(r.cells[6 + j], per(n)));
  say(r.cells[9], m.share(m.hitShare(h)));
}

function drawWindow() {
  const grid = $('hosts-grid'), now = Date.now(), fit = Math.ceil(grid.clientHeight / ROW);
  // A list that has just become shorter may still be scrolled to where it was longer.
  const at = Math.min(Math.floor(grid.scrollTop / ROW), Math.max(0, view.rows.length - fit));
  const first = Math.max(0, at - SPARE), last = Math.min(view.rows.length, at + fit + 1 + SPARE);
  while (rows.length < last - first) rows.push(makeRow());
  rows.forEach((r, i) => {
    r.row.hidden = first + i >= last;
    if (r.row.hidden) r.row.removeAttribute('id');
    else fillRow(r, first + i, now);
  });
  if (view.active >= first && view.active < last) grid.setAttribute('aria-activedescendant', 'host-' + view.active);
  else grid.removeAttribute('aria-activedescendant');
}

function showHosts() {
  const active = view.rows[view.active] && view.rows[view.active].address;
  view.rows = m.select(model.rows, $('find').value, $('only').value, view.order);
  const at = view.rows.findIndex((h) => h.address === active);
  view.active = at >= 0 ? at : Math.max(0, Math.min(view.active, view.rows.length - 1));
  $('window').style.height = view.rows.length * ROW + 'px';
  $('hosts-grid').setAttribute('aria-rowcount', view.rows.length + 1);
  $('hosts-grid').hidden = view.rows.length === 0;
  $('keys').hidden = model.rows.length === 0;
  const none = $('hosts-none');
  none.hidden = view.rows.length > 0;
  if (!model.cluster) say(none, 'Nothing is known yet.');
  else if (model.rows.length) say(none, 'No host is like that.');
  else say(none, 'No host lends its memory, and no monitor reports. Start dodo-rmd or imd on a host; dodo check on that host'
    + ' says what is wrong.');
  say($('shown'), view.rows.length === model.rows.length ? `${m.count(model.rows.length)} in all`
    : `${m.count(view.rows.length)} of ${m.count(model.rows.length)}`);
  drawWindow();
}

function onKey(event) {
  const page = Math.max(1, Math.floor($('hosts-grid').clientHeight / ROW) - 2);
  const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
  if (event.target !== event.currentTarget || !view.rows.length) return;
  if (event.key === 'Enter' || event.key === ' ') {
    choose(view.rows[view.active]);
  } else if (event.key in steps) {
    view.active = Math.max(0, Math.min(view.rows.length - 1, view.active + steps[event.key]));
    const grid = $('hosts-grid'), top = view.active * ROW;
    if (top < grid.scrollTop) grid.scrollTop = top;
    else if (top + 2 * ROW > grid.scrollTop + grid.clientHeight) grid.scrollTop = top + 2 * ROW - grid.clientHeight;
    drawWindow();
  } else {
    return;
  }
  event.preventDefault();
}

// ---- one host -------------------------------------------------------------------------------------------------------

function choose(h) {
  view.chosen = h.address;
  showDetail();
  drawWindow();
  $('detail').focus();
}

function unchoose() {
  view.chosen = null;
  showDetail();
  drawWindow();
  $('hosts-grid').focus();
}

function facts(h) {
  const r = h.known.rates, per = (n) => m.rate(r ? r[n] / r.seconds : null);
  const all = [['State', m.stateWord(h)], ['Last 30 minutes', stripWords(h.known.history, Date.now())]];
  if (h.pool_bytes === undefined)
    return [...all, ['Could lend', h.lendable_bytes ? m.bytes(h.lendable_bytes) : 'nothing']];
  return [...all, ['Lent', m.bytes(h.pool_bytes)], ['In use', m.bytes(m.usedBytes(h))],
    ['Largest free piece', m.bytes(h.largest_free_bytes)], ['Regions', m.count(h.regions)], ['Read', per('read_bytes')],
    ['Written', per('write_bytes')], ['Filled', per('fill_bytes')], ['Reads answered', m.share(m.hitShare(h))],
    ['Since its start', `${m.bytes(h.read_bytes)} read, ${m.bytes(h.write_bytes)} written, ${m.bytes(h.fill_bytes)} filled`],
    ['Epoch', h.epoch]];
}

function showDetail() {
  const h = model.rows.find((x) => x.address === view.chosen);
  $('detail').hidden = view.chosen === null;
  if (view.chosen === null) return;
  const key = m.hostKey(view.chosen);
  say($('d-name'), view.chosen);
  say($('d-why'), h ? m.why(h) : 'It is not there any more. Its events may say why.');
  const list = h ? facts(h) : [], text = JSON.stringify(list);
  if ($('d-facts').said !== text) {
    $('d-facts').said = text;
    $('d-facts').replaceChildren(...list.map(([name, value]) => {
      const pair = make('div');
      pair.append(make('dt', name), make('dd', value));
      return pair;
    }));
  }
  listEvents($('d-events'), model.eventsOf(key).slice(-50));
  say($('d-explain'), 'dodo explain ' + (key === view.chosen ? 'HOST' : key.replace(/^\[(.*)\]$/, '$1')));
}

// ---- events and programs --------------------------------------------------------------------------------------------

function eventItem(e) {
  const item = make('li'), time = make('time', when(e.at));
  time.dateTime = new Date(e.at).toISOString();
  item.append(time, make('span', m.eventWord(e), m.isBad(e.kind) ? 'bad' : ''), make('span', e.address || '–'),
    make('span', e.reason + (e.regions ? ` (${m.regions(e.regions)})` : '')));
  return item;
}

// The newest first.
function listEvents(list, events) {
  const last = events.length ? events[events.length - 1].number : 0, said = model.instance + last;
  if (list.said === said && list.childElementCount === events.length) return;
  list.said = said;
  list.replaceChildren(...events.map(eventItem).reverse());
}

function showEvents() {
  listEvents($('events'), model.events.slice(-EVENTS_SHOWN));
  $('events-none').hidden = model.events.length > 0;
}

function showClients() {
  const clients = model.clients ? [...model.clients].sort((a, b) => b.bytes - a.bytes) : [];
  const none = $('clients-none'), more = clients.length - CLIENTS_SHOWN;
  $('clients').parentNode.parentNode.hidden = clients.length === 0;
  $('clients').replaceChildren(...clients.slice(0, CLIENTS_SHOWN).map((c) => {
    const row = make('tr'), name = make('td');
    name.append(make('code', c.id));
    row.append(name, make('td', m.count(c.regions)), make('td', m.bytes(c.bytes)), make('td', m.span(c.heard_ms) + ' ago'));
    return row;
  }));
  none.hidden = clients.length > 0 && more <= 0;
  if (!model.cluster) say(none, 'Nothing is known yet.');
  else if (!model.clients) say(none, `${m.count(model.cluster.clients)} programs: too many to list.`);
  else if (more > 0) say(none, `and ${m.count(more)} more`);
  else say(none, 'No program uses the cluster.');
}

// ---- all ------------------------------------------------------------------------------------------------------------

function show() {
  const began = performance.now();
  showState();
  showTiles();
  drawChart();
  showHosts();
  showDetail();
  showEvents();
  showClients();
  document.documentElement.dataset.tookMs = (performance.now() - began).toFixed(1); // for tests
  document.documentElement.dataset.looks = Number(document.documentElement.dataset.looks || 0) + 1;
}

takeColors();
makeTop();
$('find').addEventListener('input', showHosts);
$('only').addEventListener('change', showHosts);
$('hosts-grid').addEventListener('scroll', drawWindow, { passive: true });
$('hosts-grid').addEventListener('keydown', onKey);
$('d-close').addEventListener('click', unchoose);
document.addEventListener('keydown', (e) => { if (e.key === 'Escape' && view.chosen !== null) unchoose(); });
document.addEventListener('visibilitychange', () => { if (!document.hidden) show(); });
window.addEventListener('resize', show);
window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { takeColors(); show(); });
look();
