// The browser of slices: two modes along the axes, the others held.

const GRID = (() => {
  const { location, scale } = DATA.grid;
  const sizes = DATA.kept.map((rows) => rows.length);
  const strides = sizes.map((_, mode) => sizes.slice(mode + 1).reduce((a, b) => a * b, 1));
  const mean = floats(DATA.grid.mean), std = floats(DATA.grid.std);
  const given = DATA.grid.given === null ? null : floats(DATA.grid.given);
  const [low, high] = [DATA.grid.low, DATA.grid.high].map((end) => end && floats(end));
  const at = (array, cell) => location + scale * array[cell];
  return {
    sizes, strides,
    labels: DATA.kept.map((rows, mode) => rows.map((row) => DATA.modes[mode].labels[row])),
    numbers: DATA.kept.map((rows, mode) => DATA.modes[mode].numbers && rows.map((row) => DATA.modes[mode].numbers[row])),
    isGiven: (cell) => given !== null && !Number.isNaN(given[cell]),
    given: (cell) => at(given, cell),
    mean: (cell) => at(mean, cell),
    std: (cell) => scale * std[cell],
    interval: (cell) => (low ? [at(low, cell), at(high, cell)]
      : [-1, 1].map((side) => at(mean, cell) + side * DATA.interval_factor * scale * std[cell])),
    knowsData: given !== null,
    n: mean.length,
  };
})();

const SLICE = (() => {
  const largest = GRID.sizes.map((size, mode) => [size, mode])
    .sort((a, b) => b[0] - a[0] || a[1] - b[1]).slice(0, 2).map(([, mode]) => mode).sort((a, b) => a - b);
  return { down: largest[0], across: largest[1], place: [...DATA.start], sameColours: false };
})();

const MAX_DOTS = 300; // more would hide the values under them

function entryWords(cell, place) {
  const where = place.map((row, mode) =>
    `${DATA.modes[mode].name} ${GRID.labels[mode][row]}`);
  const mean = GRID.mean(cell), [low, high] = GRID.interval(cell);
  const words = [];
  if (GRID.isGiven(cell)) words.push(`observed ${shown(GRID.given(cell))}`, `model ${shown(mean)}`);
  else words.push(`${GRID.knowsData ? "filled" : "predicted"} ${shown(mean)}`);
  words.push(`${DATA.coverage} interval ${shown(low)} to ${shown(high)}`,
    `std ${shown(GRID.std(cell))}`);
  return { where, words };
}

function sliceTables() {
  const { down, across, place } = SLICE;
  const tables = { observed: [], filled: [], std: [], text: [], dots: { x: [], y: [] } };
  for (let row = 0; row < GRID.sizes[down]; row += 1) {
    const lines = { observed: [], filled: [], std: [], text: [] };
    for (let column = 0; column < GRID.sizes[across]; column += 1) {
      const here = place.map((at, mode) => (mode === down ? row : mode === across ? column : at));
      const cell = here.reduce((sum, at, mode) => sum + at * GRID.strides[mode], 0);
      const isGiven = GRID.isGiven(cell);
      lines.observed.push(isGiven ? GRID.given(cell) : null);
      lines.filled.push(isGiven ? GRID.given(cell) : GRID.mean(cell));
      lines.std.push(GRID.std(cell));
      const { where, words } = entryWords(cell, here);
      lines.text.push(plain(where.join("\n") + "\n" + words.join("\n")).replace(/\n/g, "<br>"));
      if (!isGiven && GRID.knowsData) { tables.dots.x.push(column); tables.dots.y.push(row); }
    }
    for (const name of Object.keys(lines)) tables[name].push(lines[name]);
  }
  return tables;
}

function extent(lines) {
  let low = Infinity, high = -Infinity;
  for (const line of lines) for (const value of line) {
    if (value !== null && value < low) low = value;
    if (value !== null && value > high) high = value;
  }
  return low === high ? [low - 0.5, high + 0.5] : [low, high];
}

let everyExtent = null;
function extentsOfAll() {
  if (everyExtent === null) {
    const filled = [], std = [];
    for (let cell = 0; cell < GRID.n; cell += 1) {
      filled.push(GRID.isGiven(cell) ? GRID.given(cell) : GRID.mean(cell));
      std.push(GRID.std(cell));
    }
    everyExtent = { filled: extent([filled]), std: [0, extent([std])[1]] };
  }
  return everyExtent;
}

function heatMap(id, z, text, range, colorscale, title) {
  const c = colours(), { down, across } = SLICE;
  const room = Math.max(4, Math.floor((byId(id).clientWidth - 130) / 26));
  return [{
    type: "heatmap", z, text, zmin: range[0], zmax: range[1], colorscale, hoverongaps: true,
    hovertemplate: "%{text}<extra></extra>",
    colorbar: {
      orientation: "h", x: 0.5, y: 1.03, yanchor: "bottom", ypad: 0, thickness: 9, outlinewidth: 0, nticks: isNarrow() ? 4 : 6, tickangle: 0,
      tickfont: { size: 11 }, title: { text: plain(shortened(title, 32)), side: "top" },
    },
  }, {
    plot_bgcolor: c.unknown,
    margin: { l: 62, r: 12, t: 0, b: 56 },
    xaxis: axis(DATA.modes[across].name,
      { ...labelTicks(GRID.labels[across], GRID.numbers[across], room), range: [-0.5, GRID.sizes[across] - 0.5] }),
    yaxis: axis(DATA.modes[down].name,
      { ...labelTicks(GRID.labels[down], GRID.numbers[down], 16), tickangle: 0, range: [GRID.sizes[down] - 0.5, -0.5], ticklabelstandoff: 2 }, 20),
  }];
}

function drawSlice() {
  const tables = sliceTables();
  const ranges = SLICE.sameColours ? extentsOfAll()
    : { filled: extent(tables.filled), std: [0, extent(tables.std)[1]] };
  const name = DATA.value_name;
  if (GRID.knowsData) {
    const [map, more] = heatMap("slice-observed", tables.observed, tables.text, ranges.filled, "Viridis", name);
    draw("slice-observed", [map], more);
  }
  const [filled, more] = heatMap("slice-filled", tables.filled, tables.text, ranges.filled, "Viridis", name);
  const n_dots = tables.dots.x.length, hasDots = n_dots > 0 && n_dots <= MAX_DOTS;
  const dots = {
    type: "scatter", mode: "markers", x: hasDots ? tables.dots.x : [], y: hasDots ? tables.dots.y : [], hoverinfo: "skip",
    marker: { size: 5, color: "#ffffff", line: { color: "#000000", width: 1 } },
  };
  draw("slice-filled", [filled, dots], more);
  if (byId("dots-note")) byId("dots-note").hidden = !hasDots;
  const [std, below] = heatMap("slice-std", tables.std, tables.text, ranges.std, "Cividis", `std of ${name}`);
  draw("slice-std", [std], below);
}

function pick(place) {
  const cell = place.reduce((sum, at, mode) => sum + at * GRID.strides[mode], 0);
  const { where, words } = entryWords(cell, place);
  byId("picked").textContent = `${where.join(", ")}: ${words.join(", ")}.`;
}

function stepper(mode) {
  const move = (to) => {
    SLICE.place[mode] = (to + GRID.sizes[mode]) % GRID.sizes[mode];
    select.value = String(SLICE.place[mode]);
    drawSlice();
  };
  const name = DATA.modes[mode].name;
  const select = selector(`mode-${mode}`, GRID.labels[mode], SLICE.place[mode], move);
  const button = (sign, step, words) => {
    const made = element("button", { type: "button", textContent: sign, ariaLabel: `${words} ${name}` });
    made.addEventListener("click", () => move(SLICE.place[mode] + step));
    return made;
  };
  const row = element("span", { className: "stepper" },
    button("‹", -1, "previous"), select, button("›", 1, "next"));
  select.setAttribute("aria-label", name);
  return element("label", {}, name, row);
}

function drawControls() {
  const names = DATA.modes.map((mode) => mode.name);
  const along = (axisName, other) => (mode) => {
    if (mode === SLICE[other]) SLICE[other] = SLICE[axisName]; // the two trade places
    SLICE[axisName] = mode;
    drawControls();
    drawSlice();
  };
  const held = names.map((_, mode) => mode).filter((mode) => mode !== SLICE.down && mode !== SLICE.across);
  const tick = element("input", { type: "checkbox", checked: SLICE.sameColours, id: "same-colours" });
  tick.addEventListener("change", () => { SLICE.sameColours = tick.checked; drawSlice(); });
  byId("controls").replaceChildren(
    labelled("down", selector("down", names, SLICE.down, along("down", "across"))),
    labelled("across", selector("across", names, SLICE.across, along("across", "down"))),
    ...held.map(stepper),
    ...(held.length ? [element("label", { className: "tick" }, tick, "same colours in all slices")] : []),
  );
}

function startSlices() {
  drawControls();
  const bind = (id) => byId(id) && byId(id).on("plotly_click", ({ points: [point] }) =>
    pick(SLICE.place.map((at, mode) =>
      (mode === SLICE.down ? point.y : mode === SLICE.across ? point.x : at))));
  FIGURES.push({
    draw: drawSlice, after: () => ["slice-observed", "slice-filled", "slice-std"].forEach(bind),
  });
  for (const button of document.querySelectorAll("button[data-place]")) {
    button.addEventListener("click", () => {
      SLICE.place = button.dataset.place.split(",").map(Number);
      drawControls();
      drawSlice();
      pick(SLICE.place);
      byId("slices").scrollIntoView();
    });
  }
}
