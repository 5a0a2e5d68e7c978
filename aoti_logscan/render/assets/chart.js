// The timeline: a lane for each rank, a mark for each launch, on a canvas whatever their number.

const MAX_LANES = 256;
const PALETTE = ["k0", "k1", "k2", "k3", "k4", "k5"];

/** What is shown: lanes, launches that pass the filters (null: all), the chosen one. */
const view = {lanes: data.lanes.map((_, lane) => lane), kept: null, chosen: -1, buffer: null, phase: "after"};
const charts = [];
let colours = {};

/** A colour for each kernel: the most frequent have their own, and so has the named one. */
const colourOf = (() => {
  const counts = new Uint32Array(data.kernels.length);
  for (const kernel of data.kernel) counts[kernel]++;
  // where its one launch is known, that launch is marked and the others are like any
  const named = data.named && data.named.at === null ? data.kernels.indexOf(data.named.kernel) : -1;
  const frequent = [...counts.keys()].filter((kernel) => kernel !== named)
    .sort((one, other) => counts[other] - counts[one]).slice(0, PALETTE.length);
  const names = data.kernels.map(() => "k6");
  frequent.forEach((kernel, place) => { names[kernel] = PALETTE[place]; });
  if (named >= 0) names[named] = "named";
  return {names, counts, frequent, named};
})();

function readColours() {
  const style = getComputedStyle(root);
  const names = [...PALETTE, "k6", "several", "open", "named", "nan", "ink", "quiet", "line", "card", "edge", "bad"];
  colours = Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

function narrow() {
  return window.innerWidth < 740;
}

function laneHeight() {
  return Math.max(8, Math.min(28, Math.floor(420 / shownLanes().length)));
}

function shownLanes() {
  return view.lanes.slice(0, MAX_LANES);
}

function fontOf(size) {
  return `${size}px ${getComputedStyle(document.body).fontFamily}`;
}

const WHOLE_STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6];

function xAxis() {
  return {
    stroke: () => colours.quiet, font: fontOf(12), incrs: WHOLE_STEPS, size: 30, gap: 4, space: 70,
    grid: {stroke: () => colours.line, width: 1}, ticks: {show: false},
    values: (_, splits) => splits.map((value) => value.toLocaleString("en")),
  };
}

function yAxis(more) {
  return {
    stroke: () => colours.quiet, font: fontOf(12), size: narrow() ? 72 : 104, gap: 6,
    ticks: {show: false}, grid: {stroke: () => colours.line, width: 1}, ...more,
  };
}

/** The range of launches in the shown lanes. */
function wholeRange() {
  let last = 0;
  for (const lane of view.lanes) {
    const launches = members[lane];
    if (launches.length) last = Math.max(last, xOf[launches[launches.length - 1]]);
  }
  return [-0.5, last + 0.5];
}

/** A chart of which uPlot makes axes, grid, cursor and zoom, and `draw` the rest. */
function chart(box, height, scale, axis, draw) {
  const [first, last] = wholeRange();
  const options = {
    width: Math.max(200, box.clientWidth), height, padding: [22, 12, 0, 0],
    legend: {show: false}, axes: [xAxis(), axis],
    scales: {x: {time: false, range: (_, min, max) => [min, max]}, y: scale},
    series: [{}, {paths: () => null, points: {show: false}}],
    cursor: {y: false, points: {show: false}, drag: {x: true, y: false, dist: 4},
      sync: {key: "launches", setSeries: false}},
    hooks: {draw: [draw], setScale: [follow]},
  };
  const made = new uPlot(options, [[first, last], [0, 0]], box);
  charts.push(made);
  return made;
}

let following = false;

/** Show the same range in all charts. */
function follow(of, key) {
  if (key !== "x" || following) return;
  following = true;
  const {min, max} = of.scales.x;
  for (const other of charts) if (other !== of) other.setScale("x", {min, max});
  following = false;
}

function zoom(first, last) {
  const [from, to] = wholeRange();
  const width = Math.min(Math.max(last - first, 4), to - from);
  const start = Math.max(from, Math.min((first + last - width) / 2, to - width));
  if (charts.length) charts[0].setScale("x", {min: start, max: start + width});
}

function zoomBy(factor) {
  const {min, max} = charts[0].scales.x;
  const chosen = view.chosen >= 0 ? xOf[view.chosen] : NaN;
  const middle = chosen > min && chosen < max ? chosen : (min + max) / 2;
  const half = ((max - min) * factor) / 2;
  zoom(middle - half, middle + half);
}

function redraw() {
  for (const one of charts) one.redraw(false, false);
}

/** The place in a lane of the first launch at x or after it. */
function placeOf(launches, x) {
  let low = 0;
  let high = launches.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (xOf[launches[middle]] < x) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** How much a launch matters among those that share a pixel. */
function weight(at) {
  const kept = view.kept === null || view.kept[at] ? 10 : 0;
  if (data.named && data.named.at === at) return kept + 4;
  if (data.state[at] === "o") return kept + 3;
  return kept + (data.kernel[at] === colourOf.named ? 2 : 1);
}

function drawLanes(u) {
  const {ctx, bbox} = u;
  const lanes = shownLanes();
  const height = bbox.height / lanes.length;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, 0, bbox.width, bbox.top + bbox.height);
  ctx.clip();
  lanes.forEach((lane, row) => drawLane(u, members[lane], bbox.top + row * height, height));
  lanes.forEach((lane, row) => drawNan(u, members[lane], bbox.top + (row + 1) * height));
  if (data.named && data.named.at !== null) point(u, lanes, height);
  choose(u, lanes, height);
  ctx.restore();
}

/** The marks of one lane: of launches that share a pixel, the one that matters most. */
function drawLane(u, launches, top, height) {
  const {min, max} = u.scales.x;
  const perLaunch = u.bbox.width / (max - min);
  const width = Math.max(1, perLaunch >= 5 ? perLaunch - Math.min(2, perLaunch * 0.2) : perLaunch);
  let [pixel, best, several] = [-1, -1, false];
  for (let place = placeOf(launches, min - 1); place < launches.length; place++) {
    const at = launches[place];
    if (xOf[at] > max + 1) break;
    const here = Math.floor((xOf[at] - 0.5 - min) * perLaunch);
    if (here !== pixel) {
      if (best >= 0) mark(u, best, several, pixel, width, top, height);
      [pixel, best, several] = [here, at, false];
      continue;
    }
    const more = weight(at) - weight(best);
    if (more > 0) [best, several] = [at, false];
    else if (more === 0 && data.kernel[at] !== data.kernel[best]) several = true;
  }
  if (best >= 0) mark(u, best, several, pixel, width, top, height);
}

function mark(u, at, several, pixel, width, top, height) {
  const {ctx, bbox} = u;
  const open = data.state[at] === "o";
  const inset = open ? height * 0.06 : height * 0.2;
  const named = data.named && data.named.at === at && data.named.bad;
  const name = named ? "named" : several ? "several" : colourOf.names[data.kernel[at]];
  const box = [bbox.left + pixel, top + inset, Math.max(1, Math.floor(width)), height - 2 * inset];
  ctx.globalAlpha = view.kept === null || view.kept[at] ? 1 : 0.13;
  ctx.fillStyle = colours[name];
  if (data.state[at] === "c") ctx.globalAlpha *= 0.75;
  ctx.fillRect(...box);
  if (open) border(ctx, box, named);
  ctx.globalAlpha = 1;
}

/** An open launch has a frame, or is all frame where there is no room for one. */
function border(ctx, [left, top, width, height], named) {
  ctx.fillStyle = named ? colours.named : colours.open;
  const edge = Math.min(3 * uPlot.pxRatio, width / 3);
  if (edge < 1.5) ctx.fillRect(left, top, Math.max(width, 2 * uPlot.pxRatio), height);
  else {
    ctx.lineWidth = edge;
    ctx.strokeStyle = ctx.fillStyle;
    ctx.strokeRect(left + edge / 2, top + edge / 2, width - edge, height - edge);
  }
}

function drawNan(u, launches, bottom) {
  const {ctx} = u;
  const {min, max} = u.scales.x;
  const radius = 3 * uPlot.pxRatio;
  let before = -Infinity;
  ctx.fillStyle = colours.nan;
  for (let place = placeOf(launches, min); place < launches.length; place++) {
    const at = launches[place];
    if (xOf[at] > max) break;
    if (!nanAfter[at]) continue;
    const x = u.valToPos(xOf[at], "x", true);
    if (x - before < radius) continue;
    before = x;
    ctx.beginPath();
    ctx.arc(x, bottom - radius, radius, 0, 2 * Math.PI);
    ctx.fill();
  }
}

/** An arrow with a word to the launch that the report names. */
function point(u, lanes, height) {
  const {at, label, bad} = data.named;
  const row = lanes.indexOf(data.lane[at]);
  const x = u.valToPos(xOf[at], "x", true);
  if (row < 0 || x < u.bbox.left - 2 || x > u.bbox.left + u.bbox.width + 2) return;
  const {ctx, bbox} = u;
  const size = 6 * uPlot.pxRatio;
  const top = bbox.top + row * height + (bad ? 0 : height * 0.1);
  ctx.fillStyle = bad ? colours.named : colours.ink;
  ctx.beginPath();
  ctx.moveTo(x, top + 2);
  ctx.lineTo(x - size, top - size * 1.3);
  ctx.lineTo(x + size, top - size * 1.3);
  ctx.fill();
  const left = x > bbox.left + bbox.width / 2;
  ctx.font = `600 ${fontOf(12 * uPlot.pxRatio)}`;
  ctx.textAlign = left ? "right" : "left";
  ctx.textBaseline = "bottom";
  const word = x + (left ? -1.6 : 1.6) * size;
  ctx.lineWidth = 3 * uPlot.pxRatio;
  ctx.strokeStyle = colours.card;
  ctx.strokeText(label, word, top - 1);
  ctx.fillText(label, word, top - 1);
}

/** A line through the chosen launch, and a frame around it where `lanes` are drawn. */
function choose(u, lanes, height) {
  if (view.chosen < 0) return;
  const {ctx, bbox} = u;
  const x = u.valToPos(xOf[view.chosen], "x", true);
  if (x < bbox.left || x > bbox.left + bbox.width) return;
  ctx.fillStyle = colours.ink;
  ctx.fillRect(x - 0.5 * uPlot.pxRatio, bbox.top, uPlot.pxRatio, bbox.height);
  const row = lanes.indexOf(data.lane[view.chosen]);
  if (row < 0) return;
  const {min, max} = u.scales.x;
  const width = Math.max(6 * uPlot.pxRatio, bbox.width / (max - min));
  ctx.lineWidth = 2 * uPlot.pxRatio;
  ctx.strokeStyle = colours.ink;
  ctx.strokeRect(x - width / 2, bbox.top + (row + 0.1) * height, width, height * 0.8);
}

/** The launch under the pointer; -1 where there is none. */
function launchUnder(u, event) {
  const area = u.over.getBoundingClientRect();
  const lanes = shownLanes();
  const row = Math.floor(((event.clientY - area.top) / area.height) * lanes.length);
  const x = u.posToVal(event.clientX - area.left, "x");
  return lanes[row] === undefined ? -1 : nearest(members[lanes[row]], x);
}

function nearest(launches, x) {
  const after = placeOf(launches, x);
  const [one, other] = [launches[after - 1], launches[after]];
  if (one === undefined || other === undefined) return one ?? other ?? -1;
  return x - xOf[one] <= xOf[other] - x ? one : other;
}

function drawTimeline(box) {
  const lanes = shownLanes();
  const axis = yAxis({
    splits: () => lanes.map((_, row) => row + 0.5), grid: {show: false},
    values: () => lanes.map((lane) => clipped(laneNames[lane])),
    filter: (_, splits) => thinned(splits),
  });
  const height = lanes.length * laneHeight() + 30 + 22;
  const made = chart(box, height, {range: [0, lanes.length], dir: -1}, axis, drawLanes);
  made.over.addEventListener("mousemove", (event) => tell(made, event, launchUnder(made, event), laneTip));
  made.over.addEventListener("mouseleave", () => hush(made));
  pickable(made, (event) => launchUnder(made, event));
}

/** Labels only of as many lanes as have room for them. */
function thinned(splits) {
  const step = Math.ceil(14 / laneHeight());
  return splits.map((split, row) => (row % step === 0 ? split : null));
}

function clipped(text) {
  const room = narrow() ? 9 : 12;
  return text.length <= room ? text : `${text.slice(0, room - 1)}…`;
}

function pickable(u, under) {
  let from = 0;
  u.over.addEventListener("mousedown", (event) => { from = event.clientX; });
  u.over.addEventListener("click", (event) => {
    const at = Math.abs(event.clientX - from) < 5 ? under(event) : -1;
    if (at >= 0) select(at);
  });
}

function laneTip(at) {
  const lines = [make("b", {}, nameOf(at)), make("br", {}), summaryOf(at)];
  if (nanAfter[at]) lines.push(make("br", {}), "NaN printed after it");
  return lines;
}

function summaryOf(at) {
  const rank = rankOf(at) === null ? "" : `, rank ${rankOf(at)}`;
  const what = data.state[at] === "c" ? "call" : "launch";
  const state = {o: ", never came back", b: ", came back", c: ""}[data.state[at]];
  return `${what} ${data.index[at].toLocaleString("en")}${rank}${state}`;
}

/** Tell of a launch beside the pointer. */
function tell(u, event, at, tipOf) {
  const tip = u.tip ?? (u.tip = make("div", {class: "tip", "aria-hidden": "true"}));
  const box = u.root.closest(".chart");
  if (tip.parentNode !== box) box.append(tip);
  tip.hidden = at < 0;
  if (at < 0) return;
  tip.replaceChildren(...tipOf(at));
  const area = box.getBoundingClientRect();
  const x = event.clientX - area.left;
  tip.style.left = `${Math.max(0, Math.min(x + 14, area.width - tip.offsetWidth))}px`;
  const below = event.clientY - area.top + 18;
  tip.style.top = `${below}px`;
}

function hush(u) {
  if (u.tip) u.tip.hidden = true;
}
