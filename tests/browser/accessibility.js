// Returns what is wrong with the page as it is now, one line each. Runs after axe-core, as the body of a function. axe-core
// does not judge the contrast of borders and placeholders (WCAG 1.4.11), or a dot whose colour has a meaning.
const problems = [];
const visible = (element) => element.checkVisibility({ visibilityProperty: true }) && !element.closest(".visually-hidden, .skip");
const label = (element) => `${element.tagName.toLowerCase()}${element.id ? `#${element.id}` : ""}.${element.className}`;

const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
const rgb = (colour, under) => {
  canvas.fillStyle = `rgb(${under.join(" ")})`;
  canvas.fillRect(0, 0, 1, 1);
  canvas.fillStyle = colour;
  canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
};
const background = (element) => {
  if (!element) return [255, 255, 255];
  return rgb(getComputedStyle(element).backgroundColor, background(element.parentElement));
};
const colour = ([red, green, blue]) => new axe.commons.color.Color(red, green, blue);
const contrast = (one, other) => axe.commons.color.getContrast(colour(one), colour(other));

// The browser draws radio buttons and checkboxes without the border of their style.
const drawn = "textarea, input:not([type=radio], [type=checkbox]), .dot:not(.brand-dots .dot)";
for (const element of document.body.querySelectorAll(drawn)) {
  if (!visible(element)) continue;
  const style = getComputedStyle(element);
  const [behind, around] = [background(element), background(element.parentElement)];
  if (element.matches(".dot")) {
    const rim = style.boxShadow.match(/^rgba?\([^)]*\)/)?.[0];
    const ratio = rim ? contrast(rgb(rim, behind), around) : 0;
    if (ratio < 3) problems.push(`${label(element)}: rim contrast ${ratio.toFixed(2)}`);
    if (!element.parentElement.textContent.trim()) problems.push(`${label(element)}: a colour without its word`);
    continue;
  }
  const ratio = contrast(rgb(style.borderTopColor, around), around);
  if (ratio < 3) problems.push(`${label(element)}: border contrast ${ratio.toFixed(2)}`);
  const hint = rgb(getComputedStyle(element, "::placeholder").color, behind);
  if (element.placeholder && contrast(hint, behind) < 4.5) problems.push(`${label(element)}: placeholder contrast`);
}

const line = (rule) => rule.nodes.map((node) => `${node.target}: ${rule.id}: ${node.failureSummary}`);
return axe.run(document, { resultTypes: ["violations"] }).then((found) => [...problems, ...found.violations.flatMap(line)]);
