// What is searched for, of which rank and state: it narrows findings, launches and tables as one types.

const sought = [...document.querySelectorAll("[data-sought]")];
const texts = new WeakMap();
const inputs = Object.fromEntries(["search", "rank", "state"].map((id) => [id, document.getElementById(id)]));
const SECTIONS = {findings: ["finding", "findings"], flags: ["flag", "flags"],
  compiles: ["compilation", "compilations"], sources: ["source", "sources"]};

function textOf(element) {
  if (!texts.has(element)) texts.set(element, element.textContent.toLowerCase());
  return texts.get(element);
}

function asked() {
  return {
    words: inputs.search.value.toLowerCase().split(/\s+/).filter(Boolean),
    rank: inputs.rank?.value ?? "",
    state: inputs.state?.value ?? "",
  };
}

/** The launches that fit, as a mark for each; null where nothing was asked. */
function fitting({words, rank, state}) {
  if (!words.length && !rank && !state) return null;
  const kept = new Uint8Array(total).fill(1);
  for (const word of words) dropWithout(kept, word);
  const lanes = data.lanes.map(([of]) => !rank || String(of) === rank);
  for (let at = 0; at < total; at++) {
    if (!lanes[data.lane[at]] || (state && data.state[at] !== state)) kept[at] = 0;
  }
  return kept;
}

/** Each distinct text is looked at once, however many launches have it. */
function dropWithout(kept, word) {
  const has = (text) => text.toLowerCase().includes(word);
  const kernels = data.kernels.map(has);
  const lanes = data.lanes.map(([, source]) => has(source));
  const kinds = data.kinds.map(([name]) => has(name));
  const sets = data.sets.map((set) => set.some((kind) => kinds[kind]));
  const origins = data.origins.map((one) => has([one.at, one.call, ...one.reads, ...one.nodes, ...one.operators, ...one.stack].join("\n")));
  const index = /^#\d+$/.test(word) ? Number(word.slice(1)) : -1;
  for (let at = 0; at < total; at++) {
    const fits = kernels[data.kernel[at]] || lanes[data.lane[at]] || sets[data.set[at]] ||
      origins[data.origin[at]] || data.index[at] === index;
    if (!fits) kept[at] = 0;
  }
}

function fits(element, {words, rank}) {
  const of = element.dataset.rank;
  return (!rank || of === undefined || of === rank) && words.every((word) => textOf(element).includes(word));
}

function applyFilters() {
  const now = asked();
  for (const element of sought) element.hidden = !fits(element, now);
  for (const group of document.querySelectorAll(".group")) group.hidden = !group.querySelector(".finding:not([hidden])");
  for (const name of Object.keys(SECTIONS)) tellOfNothing(name);
  if (total) filterLaunches(now);
  inputs.count.textContent = "";
  if (now.words.length || now.rank || now.state) inputs.count.append(...counts());
  highlight(now.words);
}

function filterLaunches(now) {
  const lanes = data.lanes.map((_, lane) => lane).filter((lane) => !now.rank || String(data.lanes[lane][0]) === now.rank);
  const same = lanes.length === view.lanes.length && lanes.every((lane, place) => lane === view.lanes[place]);
  view.kept = fitting(now);
  view.lanes = lanes;
  rowsShown = ROWS;
  if (same) redraw();
  else drawCharts();
  listLaunches();
}

function found(name) {
  return document.querySelectorAll(`#${name} [data-sought]:not([hidden])`).length;
}

function tellOfNothing(name) {
  const place = document.getElementById(name);
  if (!place || !place.querySelector("[data-sought]")) return;
  const note = place.querySelector(".nothing") ?? make("p", {class: "nothing"}, "Nothing here fits what is searched for.");
  note.hidden = found(name) > 0;
  place.append(note);
}

/** How many of each kind fit, each a link to them. */
function counts() {
  const told = [];
  const add = (name, number, [one, many]) => {
    told.push(told.length ? " \u00b7 " : "", make("a", {href: `#${name}`}, `${number.toLocaleString("en")} ${number === 1 ? one : many}`));
  };
  add("findings", found("findings"), SECTIONS.findings);
  if (total) add("launches", keptLaunches().length, data.state.includes("c") ? ["call", "calls"] : ["launch", "launches"]);
  for (const name of ["flags", "compiles", "sources"]) if (document.getElementById(name)) add(name, found(name), SECTIONS[name]);
  return told;
}

const MAX_HIGHLIGHTS = 1000;

/** Show where the words stand, where the browser can. */
function highlight(words) {
  if (!("highlights" in CSS)) return;
  const ranges = [];
  for (const element of words.length ? sought : []) {
    if (!element.hidden && ranges.length < MAX_HIGHLIGHTS) addRanges(element, words, ranges);
  }
  CSS.highlights.set("sought", new Highlight(...ranges));
}

function addRanges(element, words, ranges) {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node && ranges.length < MAX_HIGHLIGHTS; node = walker.nextNode()) {
    const text = node.data.toLowerCase();
    if (text.length !== node.data.length) continue;
    for (const word of words) {
      for (let at = text.indexOf(word); at >= 0 && ranges.length < MAX_HIGHLIGHTS; at = text.indexOf(word, at + word.length)) {
        ranges.push(new StaticRange({startContainer: node, startOffset: at, endContainer: node, endOffset: at + word.length}));
      }
    }
  }
}

function searchFor(text) {
  inputs.search.value = text;
  applyFilters();
  inputs.search.focus({preventScroll: true});
}

function startFilters() {
  inputs.count = document.getElementById("count");
  let waiting = 0;
  const soon = () => {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(applyFilters);
  };
  inputs.search.addEventListener("input", soon);
  inputs.rank?.addEventListener("change", soon);
  inputs.state?.addEventListener("change", soon);
  if (inputs.state && !/[ob]/.test(data.state)) inputs.state.hidden = true;
  document.addEventListener("keydown", focusSearch);
}

function focusSearch(event) {
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName ?? "");
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    inputs.search.focus();
    inputs.search.select();
  } else if (event.key === "Escape" && document.activeElement === inputs.search) {
    searchFor("");
    inputs.search.blur();
  }
}
