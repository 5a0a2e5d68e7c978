// What was printed of one buffer along the launches: min to max as a band, mean as a line.

const buffers = (() => {
  const uses = new Map();
  const names = data.kinds.map(([name]) => name);
  const perSet = data.sets.map((kinds) => new Set(kinds.map((kind) => names[kind])));
  const counts = new Uint32Array(data.sets.length);
  for (const set of data.set) counts[set]++;
  perSet.forEach((set, at) => set.forEach((name) => uses.set(name, (uses.get(name) ?? 0) + counts[at])));
  return [...uses.keys()].sort((one, other) => one.localeCompare(other, "en", {numeric: true}));
})();
const MAX_BUFFERS = 500;
const hasValues = data.min.some((value) => value !== null) || /[c-i]/.test(data.bad);

/** The buffer that tells most: one with NaN, else one of the named launch. */
function firstBuffer() {
  const bad = nanAfter.indexOf(1);
  const nan = bad < 0 ? null : argumentsOf(bad).find((one) => one.nan && one.phase === "after");
  const named = data.named && data.named.at !== null ? argumentsOf(data.named.at) : [];
  return (nan ?? named.findLast((one) => one.min !== null))?.name ?? buffers[0] ?? null;
}

/** The values of the chosen buffer: `[launch, place in the columns]`, lane by lane. */
function usesOf(buffer, phase) {
  const kinds = data.kinds.map(([name, when]) => name === buffer && when === phase);
  const places = data.sets.map((set) => set.findIndex((kind) => kinds[kind]));
  return shownLanes().map((lane) => members[lane]
    .filter((at) => places[data.set[at]] >= 0)
    .map((at) => [at, valuesAt[at] + places[data.set[at]]]));
}

let drawn = {uses: [], launches: [], linear: 1, linearOnly: false};

/** From a value to its height on the axis: linear up to `drawn.linear`, then by decades. */
function symlog(value) {
  if (drawn.linearOnly) return value;
  return Math.sign(value) * Math.log10(1 + Math.abs(value) / drawn.linear);
}

/** All finite values that are drawn. */
function finite(uses) {
  const found = [];
  for (const lane of uses) {
    for (const [, from] of lane) {
      for (const column of [data.min, data.max, data.mean]) {
        const value = numberOf(column[from]);
        if (value !== null && Number.isFinite(value)) found.push(value);
      }
    }
  }
  return found;
}

/** The size below which the axis is linear: the smallest value, but no more than 6 decades down. */
function linearPart(values) {
  let [least, most] = [Infinity, 0];
  for (const value of values) {
    const size = Math.abs(value);
    if (size > 0 && size < least) least = size;
    if (size > most) most = size;
  }
  return most === 0 ? 1 : Math.max(10 ** Math.floor(Math.log10(least)), most * 1e-6, 1e-300);
}

function heightRange(values) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    low = Math.min(low, symlog(value));
    high = Math.max(high, symlog(value));
  }
  if (low > high) return [-1, 1];
  const pad = (high - low) * 0.1 || Math.abs(high) * 0.1 || 1;
  return [low - pad, high + pad];
}

/** Round values for the axis, from the lowest to the highest. */
function ticks(low, high) {
  if (drawn.linearOnly) return evenTicks(low, high);
  const found = [];
  for (let power = Math.floor(Math.log10(drawn.linear)); power <= 308; power++) {
    if (symlog(10 ** power) > Math.max(Math.abs(low), Math.abs(high))) break;
    found.push(10 ** power, -(10 ** power));
  }
  const inside = [0, ...found.reverse()].filter((value) => symlog(value) >= low && symlog(value) <= high);
  return inside.length < 3 ? valuesBetween(low, high) : apart(inside, (high - low) / 8);
}

/** Those values of which none is too near to one before it. */
function apart(values, distance) {
  const taken = [];
  for (const value of values) {
    if (taken.every((other) => Math.abs(symlog(other) - symlog(value)) >= distance)) taken.push(value);
  }
  return taken.sort((one, other) => one - other);
}

function evenTicks(low, high) {
  const step = 10 ** Math.floor(Math.log10((high - low) / 2));
  const wide = [5, 2, 1].map((times) => times * step).find((one) => (high - low) / one >= 3) ?? step;
  const found = [];
  for (let at = Math.ceil(low / wide); at * wide <= high && found.length < 20; at++) found.push(at * wide);
  return found;
}

/** Where no decade lies in the range: values that are told apart by as few digits as it takes. */
function valuesBetween(low, high) {
  const back = (height) => Math.sign(height) * (10 ** Math.abs(height) - 1) * drawn.linear;
  return evenTicks(back(low), back(high));
}

function drawValues(u) {
  const {ctx, bbox} = u;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, 0, bbox.width, bbox.top + bbox.height);
  ctx.clip();
  drawn.uses.forEach((uses, row) => {
    const colour = colours[PALETTE[row % PALETTE.length]];
    drawBand(u, uses, colour);
    drawBad(u, uses);
  });
  choose(u, [], 0);
  ctx.restore();
}

/** Per pixel the range of all values there, and the mean of their means. */
function drawBand(u, uses, colour) {
  const {ctx, bbox} = u;
  const {min, max} = u.scales.x;
  const wide = bbox.width / (max - min);
  const width = Math.max(uPlot.pxRatio * 1.5, Math.min(wide * 0.55, 14 * uPlot.pxRatio));
  const means = [];
  let [pixel, low, high, sum, summed] = [-1, Infinity, -Infinity, 0, 0];
  const flush = () => {
    if (summed) means.push([pixel, u.valToPos(symlog(sum / summed), "y", true)]);
    if (low > high) return;
    ctx.globalAlpha = 0.4 / Math.sqrt(drawn.uses.length);
    ctx.fillStyle = colour;
    const top = u.valToPos(high, "y", true);
    ctx.fillRect(pixel - width / 2, top - 1, width, Math.max(2, u.valToPos(low, "y", true) - top) + 1);
  };
  for (const [at, from] of uses) {
    if (xOf[at] < min - 1 || xOf[at] > max + 1) continue;
    const here = Math.round(u.valToPos(xOf[at], "x", true));
    if (here !== pixel) {
      flush();
      [pixel, low, high, sum, summed] = [here, Infinity, -Infinity, 0, 0];
    }
    for (const column of [data.min, data.max]) {
      const value = numberOf(column[from]);
      if (value === null || !Number.isFinite(value)) continue;
      low = Math.min(low, symlog(value));
      high = Math.max(high, symlog(value));
    }
    const mean = numberOf(data.mean[from]);
    if (mean !== null && Number.isFinite(mean)) [sum, summed] = [sum + mean, summed + 1];
  }
  flush();
  ctx.globalAlpha = 1;
  drawMeans(ctx, means, colour, wide);
}

function drawMeans(ctx, means, colour, wide) {
  ctx.strokeStyle = ctx.fillStyle = colour;
  ctx.lineWidth = 1.5 * uPlot.pxRatio;
  ctx.beginPath();
  means.forEach(([x, y], place) => (place ? ctx.lineTo(x, y) : ctx.moveTo(x, y)));
  ctx.stroke();
  if (wide < 6) return;
  for (const [x, y] of means) ctx.fillRect(x - 2.5 * uPlot.pxRatio, y - 2.5 * uPlot.pxRatio, 5 * uPlot.pxRatio, 5 * uPlot.pxRatio);
}

/** A filled circle above where NaN was printed, an empty one for an infinity. */
function drawBad(u, uses) {
  const {ctx, bbox} = u;
  const radius = 3.5 * uPlot.pxRatio;
  const {min, max} = u.scales.x;
  ctx.fillStyle = ctx.strokeStyle = colours.nan;
  ctx.lineWidth = 1.5 * uPlot.pxRatio;
  let before = [-Infinity, -Infinity];
  for (const [at, from] of uses) {
    if (xOf[at] < min || xOf[at] > max) continue;
    const x = u.valToPos(xOf[at], "x", true);
    [nanIn(data.bad[from]), infIn(data.bad[from])].forEach((there, which) => {
      if (!there || x - before[which] < radius) return;
      before[which] = x;
      ctx.beginPath();
      ctx.arc(x, bbox.top + radius + 1 + which * 3 * radius, radius, 0, 2 * Math.PI);
      if (which === 0) ctx.fill();
      else ctx.stroke();
    });
  }
}

function rounded(value) {
  const size = Math.abs(value);
  const text = Number(value.toPrecision(4));
  return size >= 1e5 || (size > 0 && size < 1e-3) ? text.toExponential().replace("e+", "e") : short(text);
}

function drawBuffer(box) {
  const linear = document.getElementById("scale").value === "linear";
  const uses = usesOf(view.buffer, view.phase);
  const launches = uses.map((lane) => lane.map(([at]) => at));
  drawn = {uses, launches, linear: 1, linearOnly: linear};
  const values = finite(drawn.uses);
  drawn.linear = linearPart(values);
  const [low, high] = heightRange(values);
  const axis = yAxis({
    splits: () => ticks(low, high).map(symlog),
    values: () => ticks(low, high).map(rounded),
  });
  const made = chart(box, narrow() ? 190 : 230, {range: [low, high]}, axis, drawValues);
  const under = (event) => valueUnder(made, event);
  made.over.addEventListener("mousemove", (event) => tell(made, event, under(event), valueTip));
  made.over.addEventListener("mouseleave", () => hush(made));
  pickable(made, under);
}

/** The launch nearest to the pointer that printed the buffer; of several lanes the worst there. */
function valueUnder(u, event) {
  const x = u.posToVal(event.clientX - u.over.getBoundingClientRect().left, "x");
  let best = -1;
  for (const launches of drawn.launches) {
    const at = nearest(launches, x);
    if (at < 0) continue;
    const nearer = best < 0 ? -1 : Math.abs(xOf[at] - x) - Math.abs(xOf[best] - x);
    if (nearer < 0 || (nearer === 0 && nanAfter[at] > nanAfter[best])) best = at;
  }
  return best;
}

/** What was printed there, a line for each lane. */
function valueTip(at) {
  const same = drawn.launches.map((launches) => nearest(launches, xOf[at])).filter((one) => one >= 0 && xOf[one] === xOf[at]);
  const lines = same.slice(0, 8).flatMap((one) => [make("br", {}), printedOf(one, same.length > 1)]);
  if (same.length > 8) lines.push(make("br", {}), `and in ${same.length - 8} more lanes`);
  return [make("b", {}, `${view.buffer} ${view.phase} ${nameOf(at)}`), make("br", {}), summaryOf(at), ...lines];
}

function printedOf(at, several) {
  const one = argumentsOf(at).find((arg) => arg.name === view.buffer && arg.phase === view.phase);
  const lane = several ? `${laneNames[data.lane[at]]}:` : "";
  const told = ["min", "max", "mean"].filter((name) => one[name] !== null).map((name) => `${name} ${short(one[name])}`);
  return [lane, ...told, one.nan ? "NaN" : "", one.inf ? "inf" : ""].filter(Boolean).join("  ");
}
