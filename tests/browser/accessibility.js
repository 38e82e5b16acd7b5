// Returns what is wrong with the page as it is now, one line each: contrast below AA, controls without a name,
// headings that skip a level. Runs as the body of a function.
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
const luminance = (colour) => {
  const [r, g, b] = colour.map((value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const contrast = (one, other) => {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
};

for (const element of document.body.querySelectorAll("*")) {
  if (!visible(element)) continue;
  const style = getComputedStyle(element);
  const hasText = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
  const behind = background(element);
  if (hasText) {
    const ratio = contrast(rgb(style.color, behind), behind);
    if (ratio < 4.5) problems.push(`${label(element)}: text contrast ${ratio.toFixed(2)}`);
  }
  if (element.matches("textarea, input[type=text]")) {
    const around = background(element.parentElement);
    const ratio = contrast(rgb(style.borderTopColor, around), around);
    if (ratio < 3) problems.push(`${label(element)}: border contrast ${ratio.toFixed(2)}`);
    const hint = rgb(getComputedStyle(element, "::placeholder").color, behind);
    if (element.placeholder && contrast(hint, behind) < 4.5) problems.push(`${label(element)}: placeholder contrast`);
  }
  if (element.matches(".dot:not(.brand-dots .dot)")) {
    const rim = style.boxShadow.match(/^rgba?\([^)]*\)/)?.[0];
    const ratio = rim ? contrast(rgb(rim, behind), background(element.parentElement)) : 0;
    if (ratio < 3) problems.push(`${label(element)}: rim contrast ${ratio.toFixed(2)}`);
    if (!element.parentElement.textContent.trim()) problems.push(`${label(element)}: a colour without its word`);
  }
  if (element.matches("input, textarea, select") && !element.labels?.length) problems.push(`${label(element)}: no label`);
  if (element.matches("a, button") && !element.textContent.trim()) problems.push(`${label(element)}: no name`);
}

const headings = [...document.querySelectorAll("h1, h2, h3, h4")].filter((element) => element.checkVisibility());
let level = 0;
for (const heading of headings) {
  const next = Number(heading.tagName[1]);
  if (next > level + 1) problems.push(`${label(heading)}: heading level ${next} after ${level}`);
  level = next;
}
if (headings.filter((heading) => heading.tagName === "H1").length !== 1) problems.push("not exactly one h1");
if (!document.documentElement.lang) problems.push("no language");
if (!document.querySelector("main")) problems.push("no main landmark");
return problems;
