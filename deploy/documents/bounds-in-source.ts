/** One bound of the code, as its file states it. */
export type Bound = {
  readonly name: string;
  /** The expression behind it, without the underscores of its numbers. */
  readonly expression: string;
  /** Its doc comment as one line. */
  readonly meaning: string;
};

/** A constant or a field of `HTTP_LIMITS` with the comment in front of it, if there is one. */
const DECLARATION =
  /(?:\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n)?^( *)(?:export )?(?:const )?([A-Za-z_]\w*)(?: =|:) ([^\n{}[\]'"`?]+?)[;,]$/gm;

/** What the value of a bound is made of: numbers, arithmetic and other bounds. */
const EXPRESSION = /^[\d_ *+\-/().A-Z]*\d[\d_ *+\-/().A-Z]*$/;

/** Names of bounds and times, in the files that hold more than bounds. */
const BOUNDING = /_(?:MAX|MIN|MS|S|SECONDS)$|_PER_/;

/** A file that holds nothing but bounds. */
const BOUNDS_FILE = /(?:^|\/)[\w-]*bounds\.ts$/;

/** The limits of the listener are fields of one object. */
const LISTENER_FILE = /\/http-limits\.ts$/;

/**
 * The bounds that the file `path` declares, in its order. In a file of bounds these are all its
 * constants, elsewhere the documented ones whose name says that they bound something or are a time.
 */
export function boundsIn(path: string, source: string): Bound[] {
  const isWhole = BOUNDS_FILE.test(path);
  const bounds: Bound[] = [];
  for (const [, comment = '', indent = '', name = '', value = ''] of source.matchAll(DECLARATION)) {
    const isField = indent !== '' && LISTENER_FILE.test(path);
    const isConstant = indent === '' && /^[A-Z]/.test(name) && (isWhole || BOUNDING.test(name));
    if (!EXPRESSION.test(value) || !(isField || isConstant)) continue;
    if (comment === '' && !isWhole) continue;
    bounds.push({
      name,
      expression: value.replaceAll(/(?<=\d)_(?=\d)/g, ''),
      meaning: meaningOf(comment),
    });
  }
  return bounds;
}

function meaningOf(comment: string): string {
  const lines = comment.split('\n').map((line) => line.replace(/^\s*\*? ?/, '').trim());
  return lines.filter((line) => line !== '').join(' ');
}

const UNITS: readonly { readonly name: RegExp; readonly steps: readonly [number, string][] }[] = [
  {
    name: /_MS(?:_|$)|Timeout$|Interval$/,
    steps: [
      [86_400_000, 'd'],
      [3_600_000, 'h'],
      [60_000, 'min'],
      [1_000, 's'],
      [1, 'ms'],
    ],
  },
  {
    name: /(?:^|_)(?:S|SECONDS)(?:_|$)/,
    steps: [
      [86_400, 'd'],
      [3_600, 'h'],
      [60, 'min'],
      [1, 's'],
    ],
  },
  {
    name: /_BYTES(?:_|$)|^TAKEN_PER_SECOND|^bodyLimit$|HeaderSize$/,
    steps: [
      [1_048_576, 'MiB'],
      [1_024, 'KiB'],
      [1, 'B'],
    ],
  },
];

/** The value of a bound with its unit, which its name says; an expression of others stays as it is. */
export function boundText({ name, expression }: Pick<Bound, 'name' | 'expression'>): string {
  const value = numberIn(expression);
  if (value === undefined) return `\`${expression}\``;
  const steps = UNITS.find((unit) => unit.name.test(name))?.steps;
  if (steps === undefined || value === 0) return value.toLocaleString('en');
  // A quarter is still easier to read than hundreds of the next unit.
  const [size, unit] = steps.find(
    ([step]) => value >= step && Number.isInteger((4 * value) / step),
  ) ?? [1, ''];
  return `${(value / size).toLocaleString('en')} ${unit}`;
}

/** The product, quotient or power of plain numbers; undefined for anything else. */
function numberIn(expression: string): number | undefined {
  let value: number | undefined;
  for (const [, operator = '*', number = ''] of `* ${expression}`.matchAll(
    /(\*\*|[*/+-]) ([^ ]+)/g,
  )) {
    const next = /^[\d.]+(?:e\d+)?$/.test(number) ? Number(number) : undefined;
    if (next === undefined) return undefined;
    const before = value ?? 1;
    if (operator === '**') value = before ** next;
    else if (operator === '*') value = before * next;
    else if (operator === '/') value = before / next;
    else if (operator === '+') value = before + next;
    else value = before - next;
  }
  return value;
}
