// Draw the figures one after the other, so that the page can be read and scrolled meanwhile.

async function drawAll() {
  for (const figure of FIGURES) {
    await figure.draw();
    if (figure.after && !figure.isBound) { figure.isBound = true; figure.after(); }
    await new Promise((resume) => setTimeout(resume));
  }
}

startSlices();
if (DATA.overview) { startMissing(); startHistogram(); }
if (DATA.quality) startQuality();
startLoadings();
if (DATA.components.relevance) startRelevance();
if (DATA.history) startHistory();
if (DATA.influence) startInfluence();

// Colours and ticks follow the reader's scheme and the width of the screen.
for (const query of ["(prefers-color-scheme: dark)", "(max-width: 700px)"]) {
  window.matchMedia(query).addEventListener("change", drawAll);
}
drawAll().then(() => { document.documentElement.dataset.ready = "true"; });
