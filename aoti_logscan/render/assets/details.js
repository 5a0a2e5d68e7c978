// The timeline's section: its tools, the chosen launch, the list of launches that pass the filters.

const ROWS = 200;
let rowsShown = ROWS;
const parts = {};

function button(text, act, more = {}) {
  return make("button", {type: "button", click: act, ...more}, text);
}

function buildTimeline(place) {
  parts.lanes = make("div", {class: "chart-box", tabindex: "0", role: "group", id: "lanes",
    "aria-label": "Timeline. Left and right choose a launch, up and down a lane, plus and minus zoom.",
    keydown: steer});
  parts.values = make("div", {class: "chart-box", id: "values"});
  parts.chosen = make("div", {id: "chosen"});
  parts.said = make("p", {class: "heard", "aria-live": "polite"});
  parts.list = make("div", {});
  parts.title = make("summary", {});
  const valued = hasValues ? [valueTools(), make("div", {class: "chart"}, parts.values), valueLegend()] : [];
  place.append(
    timelineTools(), make("div", {class: "chart"}, parts.lanes), legend(), ...notes(), ...valued,
    parts.said, parts.chosen, make("details", {class: "found", id: "found", toggle: listLaunches}, parts.title, parts.list));
  drawCharts();
  new ResizeObserver(resize).observe(parts.lanes);
  if (data.named && data.named.at !== null) select(data.named.at, false);
  listLaunches();
}

function timelineTools() {
  const there = data.named && data.named.at !== null;
  return make("div", {class: "tools"},
    there ? button("Go to the last kernel", () => goTo(data.named.at), {id: "go"}) : null,
    button("+", () => zoomBy(0.4), {"aria-label": "Zoom in"}),
    button("\u2212", () => zoomBy(2.5), {"aria-label": "Zoom out"}),
    button("Whole run", () => zoom(...wholeRange()), {id: "whole"}));
}

function valueTools() {
  const names = buffers.slice(0, MAX_BUFFERS);
  view.buffer = firstBuffer();
  if (view.buffer !== null && !names.includes(view.buffer)) names.push(view.buffer);
  view.phase = usesOf(view.buffer, "after").some((lane) => lane.length) ? "after" : "before";
  parts.buffer = choice("buffer", names.map((name) => [name, name]), view.buffer, showBuffer);
  parts.phase = choice("phase", [["after", "after the launch"], ["before", "before it"]], view.phase, showPhase);
  const scale = choice("scale", [["symlog", "by decades"], ["linear", "linear"]], "symlog", drawCharts);
  return make("div", {class: "tools"}, make("h3", {}, "Printed values"),
    make("label", {}, "of", parts.buffer), make("label", {}, parts.phase), make("label", {}, scale));
}

function choice(id, options, value, act) {
  const names = {buffer: "Buffer or argument", phase: "When it was printed", scale: "Scale of the values"};
  const made = make("select", {id, "aria-label": names[id], change: act},
    ...options.map(([key, text]) => make("option", {value: key}, text)));
  made.value = value;
  return made;
}

function showBuffer() {
  view.buffer = parts.buffer.value;
  if (!usesOf(view.buffer, view.phase).some((lane) => lane.length)) {
    view.phase = view.phase === "after" ? "before" : "after";
    parts.phase.value = view.phase;
  }
  drawCharts();
}

function showPhase() {
  view.phase = parts.phase.value;
  drawCharts();
}

/** Show an argument of a launch, also one for which the list had no room. */
function pickBuffer(name, phase) {
  const known = [...parts.buffer.options].some((option) => option.value === name);
  if (!known) parts.buffer.append(make("option", {value: name}, name));
  parts.buffer.value = view.buffer = name;
  parts.phase.value = view.phase = phase;
  drawCharts();
  parts.values.scrollIntoView({block: "nearest"});
}

function legend() {
  const items = [];
  const entry = (swatch, ...words) => items.push(make("li", {}, make("span", {class: `swatch ${swatch}`}), ...words));
  const kernel = (at) => entry(colourOf.names[at],
    button(data.kernels[at], () => searchFor(data.kernels[at])), `\u00d7 ${colourOf.counts[at].toLocaleString("en")}`);
  if (colourOf.named >= 0) kernel(colourOf.named);
  colourOf.frequent.forEach(kernel);
  const left = data.kernels.length - items.length;
  if (left > 0) entry("k6", `${left.toLocaleString("en")} other kernels`);
  if (total > 400) entry("several", "several in one pixel");
  if (data.named && data.named.at !== null && data.named.bad) entry("named", "the last kernel");
  if (data.state.includes("o")) entry("open", "never came back");
  if (nanAfter.includes(1)) entry("nan", "NaN printed after it");
  return make("ul", {class: "legend"}, ...items);
}

function valueLegend() {
  const lanes = shownLanes();
  const items = lanes.length > 1 && lanes.length <= PALETTE.length
    ? lanes.map((lane, row) => make("li", {}, make("span", {class: `swatch ${PALETTE[row]}`}), laneNames[lane])) : [];
  items.push(make("li", {}, "band: min to max, line: mean"));
  items.push(make("li", {}, make("span", {class: "swatch nan"}), "NaN"));
  items.push(make("li", {}, make("span", {class: "swatch inf"}), "inf"));
  return make("ul", {class: "legend", id: "value-legend"}, ...items);
}

/** What is not on the charts, and how many of it. */
function notes() {
  const told = [];
  const tellOf = (count, words) => { if (count > 0) told.push(`${count.toLocaleString("en")} ${words}`); };
  tellOf(data.leftOut, "more launches are not in this page.");
  tellOf(data.valuesLeftOut, "launches are here without their printed values, which had no room.");
  tellOf(data.originsLeftOut, "launches are here without their calls in the code, which had no room.");
  tellOf(mixed.filter(Boolean).length, "lanes hold several processes, in the order in which they were printed.");
  tellOf(buffers.length - MAX_BUFFERS, "more buffers are not in the list: choose one in a launch's table.");
  const lanes = make("p", {class: "warning", id: "lanes-left-out"});
  return [...told.map((text) => make("p", {class: "warning"}, text)), lanes];
}

function drawCharts() {
  const range = charts.length ? {...charts[0].scales.x} : null;
  while (charts.length) charts.pop().destroy();
  document.querySelectorAll(".tip").forEach((tip) => tip.remove());
  readColours();
  if (!view.lanes.length) return;
  drawTimeline(parts.lanes);
  if (hasValues) {
    drawBuffer(parts.values);
    document.getElementById("value-legend")?.replaceWith(valueLegend());
  }
  const left = view.lanes.length - shownLanes().length;
  const note = document.getElementById("lanes-left-out");
  note.hidden = left <= 0;
  note.textContent = `${left.toLocaleString("en")} more lanes are not drawn: choose a rank.`;
  if (range) zoom(range.min, range.max);
}

function resize() {
  const width = Math.max(200, parts.lanes.clientWidth);
  for (const one of charts) if (one.width !== width) one.setSize({width, height: one.height});
}

function goTo(at) {
  zoom(xOf[at] - 20, xOf[at] + 20);
  select(at);
}

/** Keys on the timeline. */
function steer(event) {
  const keys = {ArrowLeft: () => step(-1), ArrowRight: () => step(1), ArrowUp: () => change(-1),
    ArrowDown: () => change(1), Home: () => step(-Infinity), End: () => step(Infinity),
    "+": () => zoomBy(0.4), "-": () => zoomBy(2.5)};
  if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  keys[event.key]();
}

function step(by) {
  const lane = members[view.chosen < 0 ? view.lanes[0] : data.lane[view.chosen]] ?? [];
  const now = view.chosen < 0 ? -by : placeOf(lane, xOf[view.chosen]);
  const next = lane[Math.max(0, Math.min(lane.length - 1, now + by))];
  if (next !== undefined) reveal(next);
}

function change(by) {
  const row = view.lanes.indexOf(view.chosen < 0 ? -1 : data.lane[view.chosen]);
  const lane = view.lanes[Math.max(0, Math.min(view.lanes.length - 1, row + by))];
  if (lane !== undefined) reveal(nearest(members[lane], view.chosen < 0 ? 0 : xOf[view.chosen]));
}

function reveal(at) {
  const {min, max} = charts[0].scales.x;
  const width = max - min;
  if (xOf[at] < min || xOf[at] > max) zoom(xOf[at] - width / 2, xOf[at] + width / 2);
  select(at);
}

function select(at, announce = true) {
  view.chosen = at;
  const panel = make("div", {class: "chosen"}, ...panelOf(at));
  if (announce) parts.said.textContent = `${nameOf(at)}, ${summaryOf(at)}`;
  parts.chosen.replaceChildren(panel);
  redraw();
}

function panelOf(at) {
  const [, source] = data.lanes[data.lane[at]];
  const named = data.named && data.named.at === at ? make("span", {class: data.named.bad ? "chip failed" : "chip"}, "the last kernel") : null;
  const origin = data.origins[data.origin[at]];
  return [
    make("h3", {}, make("code", {}, nameOf(at))),
    make("p", {class: "labels"}, make("span", {class: "chip"}, summaryOf(at)), named,
      make("span", {class: "place"}, make("b", {}, `${baseName(source)}:${data.line[at]}`))),
    argumentTable(at),
    ...(origin ? originOf(origin) : []),
  ].filter(Boolean);
}

function originOf(origin) {
  const told = [];
  const block = (title, text, tag = "pre") => {
    if (text) told.push(make("h4", {}, title), make(tag, {class: tag === "pre" ? "stack" : "quiet"}, text));
  };
  block(origin.at ? `Call, ${baseName(origin.at)}` : "Call", origin.call);
  block("What it reads", origin.reads.join("\n"));
  block("The user's lines", origin.stack.join("\n"));
  block("Graph nodes", origin.nodes.join(", "), "p");
  block("ATen operators", origin.operators.join(", "), "p");
  return told;
}

const COLUMNS = ["Argument", "Mark", "Type", "Device", "Size", "Stride", "Min", "Max", "Mean", "NaN, inf"];

function argumentTable(at) {
  const found = argumentsOf(at);
  if (!found.length) return data.state[at] === "c" ? null : make("p", {class: "quiet"}, "No values of it are here.");
  const rows = found.map((one) => make("tr", {},
    make("th", {scope: "row"}, button(one.name, () => pickBuffer(one.name, one.phase), {title: "Show along the launches"})),
    ...[one.phase, one.dtype, one.device, one.size, one.stride, short(one.min), short(one.max), short(one.mean)]
      .map((text) => make("td", {}, text ?? "")),
    make("td", {}, make("b", {}, [one.nan ? "NaN" : "", one.inf ? "inf" : ""].filter(Boolean).join(" ")))));
  const head = make("thead", {}, make("tr", {}, ...COLUMNS.map((name) => make("th", {scope: "col"}, name))));
  return make("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "Arguments of the launch"},
    make("table", {class: "numbers"}, head, make("tbody", {}, ...rows)));
}

/** The launches that pass the filters, as many as fit in a list. */
function listLaunches() {
  const kept = keptLaunches();
  const shown = Math.min(rowsShown, kept.length);
  const word = data.state.includes("c") ? "calls" : "launches";
  parts.title.textContent = `${kept.length.toLocaleString("en")} ${word} as a list`;
  if (!document.getElementById("found").open) return;
  const more = shown < kept.length
    ? button(`Show ${ROWS} more of ${(kept.length - shown).toLocaleString("en")}`, () => { rowsShown += ROWS; listLaunches(); }, {id: "more"})
    : "";
  parts.list.replaceChildren(launchTable(kept.slice(0, shown)), more);
}

function launchTable(launches) {
  const heads = ["Launch", "Kernel", "State", "Rank", "Told in"];
  const head = make("thead", {}, make("tr", {}, ...heads.map((name) => make("th", {scope: "col"}, name))));
  return make("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "List of launches"},
    make("table", {class: "numbers"}, head, make("tbody", {}, ...launches.map(launchRow))));
}

function launchRow(at) {
  const [rank, source] = data.lanes[data.lane[at]];
  return make("tr", {}, make("td", {}, data.index[at].toLocaleString("en")),
    make("td", {}, button(nameOf(at), () => goTo(at))), make("td", {}, STATES[data.state[at]]),
    make("td", {}, rank === null ? "" : String(rank)),
    make("td", {}, `${baseName(source)}:${data.line[at]}`));
}

function keptLaunches() {
  const found = [];
  for (let at = 0; at < total; at++) if (view.kept === null || view.kept[at]) found.push(at);
  return found;
}
