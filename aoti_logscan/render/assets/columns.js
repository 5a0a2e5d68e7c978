// The launches, as columns: what is asked of one is read from them when it is asked.

const root = document.documentElement;
const data = JSON.parse(document.getElementById("launch-data").textContent);
const total = data.kernel.length;
const STATES = {o: "open", b: "back", c: "call"};

/** Where each launch's printed values begin in `min`, `max`, `mean` and `bad`. */
const valuesAt = (() => {
  const starts = new Uint32Array(total + 1);
  for (let at = 0; at < total; at++) starts[at + 1] = starts[at] + data.sets[data.set[at]].length;
  return starts;
})();

/** The launches of each lane, in order. */
const members = (() => {
  const found = data.lanes.map(() => []);
  for (let at = 0; at < total; at++) found[data.lane[at]].push(at);
  return found;
})();

/** Lanes in which several processes count their launches: there the order is that of the log. */
const mixed = members.map((lane) =>
  lane.some((at, place) => place > 0 && data.index[at] <= data.index[lane[place - 1]]));

/** Where each launch stands on the x axis. */
const xOf = (() => {
  const xs = new Float64Array(total);
  members.forEach((lane, of) =>
    lane.forEach((at, place) => { xs[at] = mixed[of] ? place : data.index[at]; }));
  return xs;
})();

function baseName(path) {
  return path.replaceAll("\\", "/").split("/").pop();
}

const laneNames = (() => {
  const lanesOf = new Map();
  for (const [rank] of data.lanes) lanesOf.set(rank, (lanesOf.get(rank) ?? 0) + 1);
  return data.lanes.map(([rank, source]) => {
    if (rank === null) return baseName(source);
    return lanesOf.get(rank) === 1 ? `rank ${rank}` : `rank ${rank} ${baseName(source)}`;
  });
})();

function nameOf(at) {
  return data.kernels[data.kernel[at]];
}

function rankOf(at) {
  return data.lanes[data.lane[at]][0];
}

/** A printed number; null where none was printed. */
function numberOf(value) {
  return value === null ? null : Number(value);
}

const nanIn = (letter) => letter >= "g";
const infIn = (letter) => "cfi".includes(letter);

/** What was printed of the arguments of a launch. */
function argumentsOf(at) {
  return data.sets[data.set[at]].map((kind, place) => {
    const [name, phase, dtype, device, size, stride, numel] = data.kinds[kind];
    const from = valuesAt[at] + place;
    return {
      name, phase, dtype, device, size, stride, numel,
      min: numberOf(data.min[from]), max: numberOf(data.max[from]), mean: numberOf(data.mean[from]),
      nan: nanIn(data.bad[from]), inf: infIn(data.bad[from]),
    };
  });
}

/** Launches after which an argument was printed as having NaN. */
const nanAfter = (() => {
  const found = new Uint8Array(total);
  for (let at = 0; at < total; at++) {
    const kinds = data.sets[data.set[at]];
    for (let place = 0; place < kinds.length; place++) {
      if (nanIn(data.bad[valuesAt[at] + place]) && data.kinds[kinds[place]][1] === "after") found[at] = 1;
    }
  }
  return found;
})();

/** A number in few characters, as exact as it was printed. */
function short(value) {
  if (value === null) return "";
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "inf" : "-inf";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e7) return String(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e7)) {
    return value.toExponential().replace("e+", "e");
  }
  return String(value);
}

/** An element with children; texts stay texts. */
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value !== null && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== ""));
  return element;
}
