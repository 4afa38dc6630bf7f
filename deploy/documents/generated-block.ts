/**
 * Replaces the lines between the two comments of block `name` in `text`. Throws unless `text`
 * contains the block exactly once.
 */
export function withBlock(text: string, name: string, lines: readonly string[]): string {
  const begin = `<!-- generated: ${name} -->`;
  const end = `<!-- end: ${name} -->`;
  const [before = '', rest = '', ...further] = text.split(begin);
  const at = rest.indexOf(end);
  if (further.length > 0 || at < 0)
    throw new Error(`the document must contain block "${name}" exactly once`);
  return `${before}${begin}\n\n${lines.join('\n')}\n\n${rest.slice(at)}`;
}
