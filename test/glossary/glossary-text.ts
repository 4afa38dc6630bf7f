/**
 * Prepares a text for the patterns of the retired words: splits identifiers, joins comment lines
 * and converts to lower case.
 */
export function wordsOf(source: string): string {
  return source
    .replaceAll(/\n[ \t]*(?:\*|\/\/|#|--)?[ \t]*/g, ' ')
    .replaceAll(/([a-z\d])([A-Z])/g, '$1 $2')
    .replaceAll('_', ' ')
    .toLowerCase();
}
