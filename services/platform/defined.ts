/** A record of what is set of `fields`: one that is undefined is left out. */
export function defined<Fields extends object>(
  fields: {
    readonly [Name in keyof Fields]-?: Fields[Name] | undefined;
  },
): Fields {
  const set = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(set) as Fields;
}
