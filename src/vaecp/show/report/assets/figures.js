// The figures that are drawn once: data, quality, components, history.

function panel(container, id, label, caption, isShort) {
  const plot = element("div", { id, className: isShort ? "plot short" : "plot" });
  plot.setAttribute("role", "img");
  plot.setAttribute("aria-label", label);
  byId(container).append(element("figure", {}, element("h3", { textContent: label }), plot,
    element("figcaption", { textContent: caption })));
}

function startMissing() {
  DATA.overview.missing.forEach((missing, number) => {
    const mode = DATA.modes[number], id = `missing-${number}`;
    const names = missing.first.map((first, place) => {
      const last = missing.last[place];
      return first === last ? mode.labels[first] : `${mode.labels[first]} to ${mode.labels[last]}`;
    });
    const numbers = mode.numbers && missing.first.map((first) => mode.numbers[first]);
    panel("missing", id, mode.name,
      missing.grouped ? `Each bar is the average of neighbouring labels: there are ${mode.size.toLocaleString("en")}.` : "", true);
    FIGURES.push({ draw: () => draw(id, [{
      type: "bar", x: names.map((_, place) => place), y: missing.share, marker: { color: colours().series[0] },
      text: names.map(plain), textposition: "none", hovertemplate: "%{text}<br>%{y:.1%} missing<extra></extra>",
    }], {
      xaxis: axis(mode.name, labelTicks(names, numbers, isNarrow() ? 8 : 9, 12)),
      yaxis: axis("missing", { range: [0, 1.02], tickformat: ".0%", dtick: 0.5 }), bargap: names.length > 60 ? 0 : 0.2,
    }) });
  });
}

function startHistogram() {
  const { counts, edges } = DATA.overview.histogram;
  FIGURES.push({ draw: () => draw("histogram", [{
    type: "bar", x: counts.map((_, bin) => (edges[bin] + edges[bin + 1]) / 2), y: counts,
    width: counts.map((_, bin) => edges[bin + 1] - edges[bin]),
    marker: { color: colours().series[0], line: { color: colours().panel, width: 0.5 } },
    text: counts.map((_, bin) => `${shown(edges[bin])} to ${shown(edges[bin + 1])}`), textposition: "none",
    hovertemplate: "%{text}<br>%{y:,} entries<extra></extra>",
  }], { xaxis: axis(DATA.value_name), yaxis: axis("entries"), bargap: 0 }) });
}

function startQuality() {
  const { scatter, calibration, reliability, errors, labels } = DATA.quality;
  const n = scatter.held_out.length;
  if (n < scatter.n) {
    byId("scatter-note").textContent += ` ${n.toLocaleString("en")} of ${scatter.n.toLocaleString("en")} hidden entries are drawn, at random.`;
  }
  const text = labels.map((row, point) => plain(row.map((label, mode) =>
    `${DATA.modes[mode].name} ${label}`).join("\n")).replace(/\n/g, "<br>")
    + `<br>held out ${shown(scatter.held_out[point])}<br>predicted ${shown(scatter.predicted[point])}`
    + `<br>${DATA.coverage} interval ${shown(scatter.low[point])} to ${shown(scatter.high[point])}`);
  const ends = extent([scatter.held_out, scatter.predicted]);
  FIGURES.push({ draw: () => draw("scatter", [
    { type: "scatter", mode: "lines", x: ends, y: ends, line: { color: colours().soft, width: 1.5, dash: "dash" }, hoverinfo: "skip" },
    { type: "scatter", mode: "markers", x: scatter.held_out, y: scatter.predicted, text,
      hovertemplate: "%{text}<extra></extra>",
      marker: { color: colours().series[0], size: n > 500 ? 4 : 6, opacity: n > 500 ? 0.55 : 0.8 } },
  ], { xaxis: axis(`held-out ${DATA.value_name}`), yaxis: axis(`predicted ${DATA.value_name}`) }) });
  FIGURES.push({ draw: () => drawCalibration(calibration) });
  if (reliability) FIGURES.push({ draw: () => drawReliability(reliability) });
  FIGURES.push({ draw: () => draw("errors", [{
    type: "bar", orientation: "h", x: errors.rmse, y: errors.names.map((_, place) => place),
    marker: { color: errors.names.map((_, place) => (place ? colours().soft : colours().series[0])) },
    text: errors.names.map(plain), textposition: "none", hovertemplate: "%{text}<br>RMSE %{x:.4g}<extra></extra>",
  }], {
    xaxis: axis(`RMSE of ${DATA.value_name}`, { rangemode: "tozero" }),
    yaxis: axis("", { ...labelTicks(errors.names, null, 9, 24), tickangle: 0, autorange: "reversed", title: { text: "" } }), bargap: 0.35,
  }) });
}

function drawCalibration({ level, share, low, high }) {
  const c = colours();
  return draw("calibration", [
    { type: "scatter", mode: "lines", x: level, y: high, line: { width: 0 }, hoverinfo: "skip" },
    { type: "scatter", mode: "lines", x: level, y: low, line: { width: 0 }, fill: "tonexty", fillcolor: c.band, hoverinfo: "skip" },
    { type: "scatter", mode: "lines", x: [0, 1], y: [0, 1], line: { color: c.soft, width: 1.5, dash: "dash" }, hoverinfo: "skip" },
    { type: "scatter", mode: "lines+markers", x: level, y: share, line: { color: c.series[1] }, marker: { size: 7 },
      hovertemplate: "intervals of %{x:.0%} hold %{y:.1%}<extra></extra>" },
  ], {
    xaxis: axis("promised share (nominal coverage)", { range: [0, 1.02], tickformat: ".0%" }),
    yaxis: axis("share inside (empirical)", { range: [0, 1.02], tickformat: ".0%" }),
  });
}

function drawReliability({ probability, share, low, high, n }) {
  const c = colours();
  return draw("reliability", [
    { type: "scatter", mode: "lines", x: [0, 1], y: [0, 1], line: { color: c.soft, width: 1.5, dash: "dash" }, hoverinfo: "skip" },
    { type: "scatter", mode: "markers", x: probability, y: probability, marker: { size: 1, color: c.soft }, hoverinfo: "skip",
      error_y: { type: "data", symmetric: false, color: c.soft, array: high.map((end, bin) => end - probability[bin]),
        arrayminus: low.map((end, bin) => probability[bin] - end) } },
    { type: "scatter", mode: "lines+markers", x: probability, y: share, text: n.map((count) => count.toLocaleString("en")),
      line: { color: c.series[1] }, marker: { size: 7 },
      hovertemplate: "given %{x:.1%}, came true %{y:.1%}<br>%{text} times<extra></extra>" },
  ], {
    xaxis: axis("probability that was given", { range: [-0.02, 1.02], tickformat: ".0%" }),
    yaxis: axis("share that came true", { range: [-0.02, 1.02], tickformat: ".0%" }),
  });
}

const NINE_IN_TEN = 1.645; // standard deviations of a Gaussian posterior to either side

function loadingTraces(number, component) {
  const c = colours(), mode = DATA.modes[number], rows = DATA.components.modes[number];
  const mean = rows.mean[component];
  if (!mean) return null;
  const names = rows.rows.map((row) => mode.labels[row]);
  const isNumeric = (mode.numbers !== null || mode.dates) && rows.rows.length > 2;
  const x = rows.rows.map((row, place) => (!isNumeric ? place : mode.dates ? mode.labels[row] : mode.numbers[row]));
  const half = rows.std === null ? null : rows.std[component].map((std) => NINE_IN_TEN * std);
  const text = names.map((name, place) => plain(name) + `<br>${mean[place].toFixed(2)}`
    + (half === null ? "" : ` ± ${half[place].toFixed(2)}`));
  const common = { x, text, textposition: "none", hovertemplate: "%{text}<extra></extra>" };
  const traces = [];
  if (isNumeric) {
    if (half !== null) {
      const end = (sign) => mean.map((value, place) => value + sign * half[place]);
      traces.push(
        { type: "scatter", mode: "lines", x, y: end(1), line: { width: 0 }, hoverinfo: "skip" },
        { type: "scatter", mode: "lines", x, y: end(-1), line: { width: 0 }, fill: "tonexty", fillcolor: c.band, hoverinfo: "skip" });
    }
    traces.push({ ...common, type: "scatter", mode: x.length > 60 ? "lines" : "lines+markers", y: mean,
      line: { color: c.series[0], width: 2 }, marker: { size: 6 } });
  } else {
    traces.push({ ...common, type: "bar", y: mean, marker: { color: c.series[0] },
      ...(half === null ? {} : { error_y: { type: "data", array: half, color: c.ink, thickness: 1.2, width: names.length > 40 ? 0 : 3 } }) });
  }
  const ticks = isNumeric ? { type: mode.dates ? "date" : isLogarithmic(x) ? "log" : "linear" }
    : { type: "linear", ...labelTicks(names, null, isNarrow() ? 10 : 14) };
  return [traces, { xaxis: axis(mode.name, ticks), yaxis: axis("loading", { zeroline: true }) }];
}

function startLoadings() {
  const { n, n_all, modes, relevance, names } = DATA.components;
  let chosen = 0;
  modes.forEach((rows, number) => {
    const mode = DATA.modes[number];
    panel("loadings", `loading-${number}`, mode.name, rows.rows.length < mode.size
      ? `${rows.rows.length.toLocaleString("en")} of ${mode.size.toLocaleString("en")} labels, evenly spaced.` : "", true);
    FIGURES.push({ draw: () => {
      const found = loadingTraces(number, chosen);
      return found ? draw(`loading-${number}`, ...found) : draw(`loading-${number}`, [], {
        xaxis: { visible: false }, yaxis: { visible: false },
        annotations: [{ text: `${plain(mode.name)} has fewer components`, showarrow: false }],
      });
    } });
  });
  const words = Array.from({ length: n }, (_, place) =>
    `component ${place + 1}${names ? `, ${names[place]}` : ""}${place === 0 && relevance ? " (most relevant)" : ""}`);
  const redraw = () => FIGURES.filter((figure) => figure.isLoading).forEach((figure) => figure.draw());
  FIGURES.slice(-modes.length).forEach((figure) => { figure.isLoading = true; });
  byId("component-controls").append(labelled(
    n < n_all ? `the ${n} ${relevance ? "most relevant" : "first"} of ${n_all} components` : `${n} component${n > 1 ? "s" : ""}`,
    selector("component", words, 0, (place) => { chosen = place; redraw(); })));
}

function startRelevance() {
  const { groups } = DATA.components.relevance;
  FIGURES.push({ draw: () => draw("relevance", groups.map((group, place) => ({
    type: "bar", name: plain(group.mode), x: group.values.map((_, number) => number + 1), y: group.values,
    marker: { color: colours().series[place % 6], pattern: { shape: ["", "/", ".", "x", "\\", "-"][place % 6] } },
    hovertemplate: `${plain(group.mode)}, component %{x}<br>%{y:.4g}<extra></extra>`,
  })), {
    xaxis: axis("component", { dtick: Math.max(1, Math.ceil(groups[0].values.length / 10)) }), yaxis: axis(`moves ${DATA.value_name} by`, { rangemode: "tozero" }),
    showlegend: groups.length > 1, legend: { orientation: "h", y: 1.12 }, margin: { l: 56, r: 16, t: groups.length > 1 ? 36 : 12, b: 46 },
  }) });
}

function startHistory() {
  const { terms, step } = DATA.history;
  let chosen = Math.max(0, terms.findIndex((term) => term.name.startsWith("RMSE")));
  const figure = { draw: () => draw("history", terms[chosen].lines.map((line, member) => ({
    type: "scatter", mode: "lines", x: line.step, y: line.value, name: `member ${member + 1}`,
    line: { color: colours().series[member % 6], width: 1.8, dash: ["solid", "dash", "dot", "dashdot"][member % 4] },
    hovertemplate: `${step} %{x}<br>%{y:.5g}<extra>${terms[chosen].lines.length > 1 ? `member ${member + 1}` : ""}</extra>`,
  })), {
    xaxis: axis(step), yaxis: axis(terms[chosen].name, { type: isLogarithmic(terms[chosen].lines.flatMap((line) => line.value.filter((value) => value !== null))) ? "log" : "linear" }),
    showlegend: terms[chosen].lines.length > 1, legend: { orientation: "h", y: 1.12 }, margin: { l: 64, r: 16, t: 30, b: 46 },
  }) };
  FIGURES.push(figure);
  if (terms.length > 1) {
    byId("history-controls").append(labelled("term",
      selector("term", terms.map((term) => term.name), chosen, (place) => { chosen = place; figure.draw(); })));
  }
}

function startInfluence() {
  const modes = DATA.influence;
  let chosen = 0;
  const figure = { draw: () => {
    const { mode, labels, leverage, residual } = modes[chosen];
    return draw("influence", [{
      type: "scatter", mode: labels.length > 30 ? "markers" : "markers+text", x: leverage, y: residual,
      text: labels.map(plain), textposition: "top center", hovertemplate: "%{text}<br>leverage %{x:.2f}<br>residual %{y:.4g}<extra></extra>",
      marker: { color: colours().series[0], size: 7, opacity: 0.8 },
    }], { xaxis: axis(`leverage of ${mode}`, { range: [-0.03, 1.05] }), yaxis: axis(`residual ${DATA.value_name} (RMS)`, { rangemode: "tozero" }) });
  } };
  FIGURES.push(figure);
  byId("influence-controls").append(labelled("mode",
    selector("influence-mode", modes.map((each) => each.mode), chosen, (place) => { chosen = place; figure.draw(); })));
}
