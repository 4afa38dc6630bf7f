type Rules = Readonly<Record<string, unknown>>;

/** Rules of a schema beyond its type, as text. Undefined without rules. */
export function rulesOf(schema: Rules): string | undefined {
  const rules = [
    boundsOf(schema, 'minimum', 'maximum', ''),
    boundsOf(schema, 'minLength', 'maxLength', ' characters'),
    boundsOf(schema, 'minItems', 'maxItems', ' items'),
    formatOf(schema),
    schema['default'] === undefined ? undefined : `default ${JSON.stringify(schema['default'])}`,
    schema['const'] === undefined ? undefined : `always ${JSON.stringify(schema['const'])}`,
  ].filter((rule) => rule !== undefined);
  return rules.length === 0 ? undefined : sentenceOf(rules.join('; '));
}

function boundsOf(schema: Rules, least: string, most: string, unit: string): string | undefined {
  const [min, max] = [plausible(schema[least]), plausible(schema[most])];
  if (min !== undefined && max !== undefined) {
    return min === max ? `${min}${unit}` : `${min} to ${max}${unit}`;
  }
  if (min !== undefined) return `at least ${min}${unit}`;
  return max === undefined ? undefined : `at most ${max}${unit}`;
}

/** The bound, or undefined for the bound of safe integers, which is no rule. */
function plausible(bound: unknown): number | undefined {
  const isBound = typeof bound === 'number' && Math.abs(bound) !== Number.MAX_SAFE_INTEGER;
  return isBound ? bound : undefined;
}

function formatOf({ format, pattern }: Rules): string | undefined {
  if (format === 'date-time') return 'RFC 3339';
  return typeof pattern === 'string' ? `pattern ${pattern}` : undefined;
}

function sentenceOf(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
