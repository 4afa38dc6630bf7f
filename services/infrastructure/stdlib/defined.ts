/** Copy of `fields` without properties whose value is undefined. */
export function defined<Fields extends object>(
  fields: {
    readonly [Name in keyof Fields]-?: Fields[Name] | undefined;
  },
): Fields {
  const set = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(set) as Fields;
}
