/**
 * Text in the form that the glossary's patterns match: split identifiers, joined comment lines,
 * lower case.
 */
export function wordsOf(source: string): string {
  return source
    .replaceAll(/\n[ \t]*(?:\*|\/\/|#|--)?[ \t]*/g, ' ')
    .replaceAll(/([a-z\d])([A-Z])/g, '$1 $2')
    .replaceAll('_', ' ')
    .toLowerCase();
}
