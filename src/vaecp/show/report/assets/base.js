"use strict";
// Numbers, labels and colours that all figures share.

const DATA = JSON.parse(document.getElementById("figures").textContent);
const FIGURES = []; // functions that draw one figure each; called again when colours change

const byId = (id) => document.getElementById(id);
const isNarrow = () => window.matchMedia("(max-width: 700px)").matches;

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children); // texts become text nodes, whatever they look like
  return made;
}

// Plotly reads a few HTML tags in its texts; a label must show as it is.
function plain(text) {
  return String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}

// From the middle: labels of one mode often differ at their ends.
function shortened(text, length) {
  const letters = Array.from(String(text)), head = Math.ceil((length - 1) / 2);
  if (letters.length <= length) return String(text);
  return `${letters.slice(0, head).join("")}…${letters.slice(head + 1 - length).join("")}`;
}

function shown(value) {
  if (value === null || !Number.isFinite(value)) return "not known";
  const text = DATA.decimals === null
    ? Number(value.toPrecision(4)).toString()
    : value.toLocaleString("en", {
      minimumFractionDigits: DATA.decimals, maximumFractionDigits: DATA.decimals,
    });
  return text.replace("-", "−");
}

function floats(packed) {
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  return new Float32Array(bytes.buffer);
}

function colours() {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(`--${name}`).trim();
  return {
    ink: read("ink"), muted: read("muted"), panel: read("panel"), grid: read("grid"),
    unknown: read("unknown"), band: read("band"), soft: read("soft"), line: read("line"),
    series: [0, 1, 2, 3, 4, 5].map((number) => read(`series-${number}`)),
  };
}

function axis(title, more = {}, standoff = 8) {
  const c = colours();
  return {
    title: { text: plain(shortened(title, 40)), standoff }, automargin: true, gridcolor: c.grid,
    zerolinecolor: c.line, linecolor: c.line, tickcolor: c.line, fixedrange: isNarrow(), ...more,
  };
}

function layout(more) {
  const c = colours();
  return {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", showlegend: false,
    font: { color: c.ink, size: 12, family: getComputedStyle(document.body).fontFamily },
    hoverlabel: { bgcolor: c.panel, bordercolor: c.soft, font: { color: c.ink }, align: "left" },
    margin: { l: 56, r: 16, t: 12, b: 46 }, dragmode: isNarrow() ? false : "zoom", ...more,
  };
}

function draw(id, traces, more) {
  const config = { responsive: true, displayModeBar: false };
  return Plotly.react(byId(id), traces, layout(more), config);
}

// How many characters at the start of long labels say nothing, as the year of times within one.
function commonStart(texts, length) {
  if (texts.length < 2 || texts.every((text) => text.length <= length)) return 0;
  let same = 0;
  while (same < texts[0].length && texts.every((text) => text[same] === texts[0][same])) same += 1;
  const start = texts[0].slice(0, same);
  return Math.max(...[" ", "-", "_", "/"].map((sign) => start.lastIndexOf(sign))) + 1;
}

// At most `most` ticks, evenly spread, under the labels themselves; numbers lose digits there.
function labelTicks(labels, numbers, most, length = 14) {
  const step = Math.max(1, Math.ceil(labels.length / most));
  const places = labels.map((_, place) => place).filter((place) => place % step === 0);
  const start = numbers === null ? commonStart(places.map((place) => String(labels[place])), length) : 0;
  const text = (place) => (numbers === null
    ? shortened(String(labels[place]).slice(start), length) : rounded(numbers[place]));
  const texts = places.map((place) => plain(text(place)));
  return {
    tickmode: "array", tickvals: places, ticktext: texts, showgrid: false, zeroline: false,
    tickangle: texts.some((each) => each.length > 5) ? -45 : 0,
  };
}

function rounded(number) {
  const four = Number(number.toPrecision(4)); // years and wavelengths keep all of theirs
  return String(Math.abs(number) >= 1000 ? four : Number(number.toPrecision(3))).replace("-", "−");
}

// Doses and the like are spaced by factors: then the axis is too.
function isLogarithmic(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted.length > 3 && sorted[0] > 0 && sorted[sorted.length - 1] / sorted[0] > 200;
}

function selector(name, options, chosen, onChange) {
  const select = element("select", { name });
  options.forEach((text, value) =>
    select.append(element("option", { value: String(value), textContent: text, selected: value === chosen })));
  select.addEventListener("change", () => onChange(Number(select.value)));
  return select;
}

function labelled(text, ...controls) {
  return element("label", {}, text, ...controls);
}
