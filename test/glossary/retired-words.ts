/** A word that a standard term replaces. Source: docs/glossary.md. */
export type RetiredWord = {
  readonly word: string;
  /** Matches the output of `wordsOf`. */
  readonly pattern: RegExp;
  /** Standard terms to use instead. */
  readonly use: string;
  /** Files to check; undefined for all files. */
  readonly within?: RegExp;
  /** Files in which the word has another meaning and is allowed. */
  readonly except?: RegExp;
};

/** Code about records, actors and nodes. */
const ACTORS =
  /^(services\/[a-z-]+|test)\/(actor-runtime|shards|cluster|engine|limiter|storage|ctl)\//;

/** Texts about people: the questionnaire and the personas. */
const MODEL_TEXTS = /^services\/domain\/identity\/(inventory|persona-texts)\.ts$/;

/** Code of the journal. */
const JOURNAL = /^(services\/[a-z-]+|test)\/(actor-runtime|shards)\//;

/** All retired words. */
export const RETIRED: readonly RetiredWord[] = [
  { word: 'death watch', pattern: /\bdeath watch/, use: 'failure detector' },
  {
    word: 'still',
    pattern: /\b(stands?|standing|stood) still\b|\bis still\b(?! [a-z])|'still'/,
    use: 'stalled',
  },
  { word: 'gone', pattern: /'gone'|\bis gone\(/, use: 'unreachable' },
  { word: 'low', pattern: /\blow\b(?![ -]?water)/, use: 'low-water mark', within: JOURNAL },
  { word: 'place', pattern: /\bplaces?\b/, use: 'log offset', within: JOURNAL },
  {
    word: 'adopt',
    // `opening.adopt` is a method of `AsyncDisposableStack`.
    pattern: /(?<!opening\.)\badopt(s|ed|ing|ion)?\b/,
    use: 'tail recovery, recovered records',
  },
  { word: 'heir', pattern: /\bheirs?\b/, use: 'new owner' },
  { word: 'lives again', pattern: /\blives? again\b|\bone life\b/, use: 'rejoin, incarnation' },
  { word: 'ground', pattern: /\bgrounds?\b/, use: 'node context' },
  { word: 'tenants', pattern: /\btenants?\b/, use: 'hosted services' },
  {
    word: 'motions',
    // `prefers-reduced-motion` is CSS.
    pattern: /(?<!prefers-reduced-)\bmotions?\b|\bmove rules\b/,
    use: 'moves in flight, throttle',
    except: MODEL_TEXTS,
  },
  { word: 'hand-over', pattern: /\bhand[- ]?overs?\b/, use: 'handoff' },
  { word: 'residents', pattern: /\bresidents\b/, use: 'activation catalog' },
  {
    word: 'warm',
    pattern: /\bwarm(s|ed|ing)?\b(?![ -]up)/,
    use: 'eager activation',
    within: ACTORS,
  },
  { word: 'owed', pattern: /\bowe[ds]\b/, use: 'pending side effect' },
  {
    word: 'mark',
    // `window_mark` and `month_mark` are fields of the admin API.
    pattern: /(?<!water)(?<!water[ -]|window |month )\bmarks?\b/,
    use: 'pre-allocated allowance, durable watermark',
    within: /^(services|test)\/limiter\//,
  },
  { word: 'rest on', pattern: /\brests? on\b/, use: 'durability dependency', within: ACTORS },
  { word: 'held answer', pattern: /\bheld answers?\b/, use: 'deferred acknowledgement' },
  { word: 'COPIES', pattern: /\bcassandra copies\b/, use: 'replication factor' },
  { word: 'riddle', pattern: /\briddles?\b/, use: 'inconsistent state' },
  { word: 'shouts', pattern: /\bshouts?\b/, use: 'fails loudly' },
  {
    word: 'no chance',
    pattern: /\bno clocks? (and|or|,)? ?no chance\b/,
    use: 'time and randomness as ports',
  },
  { word: 'tell', pattern: /\b(tells?|telling|told)\b(?! apart\b)/, use: 'notify, ack, report' },
  { word: 'wish', pattern: /\bwish(es|ed)?\b/, use: 'request' },
  { word: 'so many', pattern: /\bso many\b/, use: 'n' },
  { word: 'of late', pattern: /\bof late\b/, use: 'recently' },
  { word: 'anew', pattern: /\banew\b/, use: 'again' },
  { word: 'ours', pattern: /(?<!= )\bours[.;](?![a-z])/, use: 'chosen:' },
  { word: 'peek', pattern: /\b(peek|glance)(s|d|ed|ing)?\b/, use: 'read, look' },
  {
    word: 'settle',
    // `Promise.allSettled` and promise states are JavaScript terms.
    pattern: /(?<!all |promise |#test\/support\/)\bsettl(es?|ed|ing)\b/,
    use: 'start-up grace period, end',
    within: /^(services|test)\/(runtime|node|cluster|process|storage|engine)\//,
  },
];
