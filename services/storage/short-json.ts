/**
 * What stands again and again in the texts of drift events, the longer before its parts. A place in
 * this list is a byte of stored rows: words may be added at the end, none may be changed or moved.
 */
const PHRASES: readonly string[] = [
  '{"description":"The present state departs from the set-point.","reason":"situational_departure","distance":',
  '{"description":"A departure has lasted longer than a passing situation explains.","reason":"sustained_shift","distance":',
  '{"description":"The modes left the range of this identity and were rolled back.","reason":"identity_breach","distance":',
  '{"mode":"perception","z":',
  ',"contribution":0},{"mode":"exploration","z":',
  ',"contribution":0},{"mode":"order","z":',
  ',"contribution":0},{"mode":"assertion","z":',
  ',"contribution":0},{"mode":"connection","z":',
  ',"contribution":0},{"mode":"identity","z":',
  ',"contribution":0},{"mode":"stress_response","z":',
  '},{"mode":"exploration","z":',
  '},{"mode":"order","z":',
  '},{"mode":"assertion","z":',
  '},{"mode":"connection","z":',
  '},{"mode":"identity","z":',
  '},{"mode":"stress_response","z":',
  ',"contribution":',
  ',"t2":',
  ',"p_value":',
  ',"breach":',
  ',"run":',
  ',"sustained":{"statistic":',
  ',"limit":5.298317,"mode":"',
  '","direction":"up"},"modes":[',
  '","direction":"down"},"modes":[',
  '}],"nearest_persona":null,"composite":null}',
  '}],"nearest_persona":"persona_',
  '","composite":null}',
];

/** A character that JSON never holds as it is: it would be escaped. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what stands for phrases
const CONTROL = /[\u0000-\u001f]/;

/** JSON with a character for each phrase; undefined when it holds such characters already. */
export function shortened(json: string): string | undefined {
  if (CONTROL.test(json)) return undefined;
  return PHRASES.reduce(
    (short, phrase, place) => short.replaceAll(phrase, String.fromCharCode(place)),
    json,
  );
}

/** The JSON that was shortened. */
export function lengthened(short: string): string {
  return PHRASES.reduce(
    (json, phrase, place) => json.replaceAll(String.fromCharCode(place), phrase),
    short,
  );
}
