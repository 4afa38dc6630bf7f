/** The path of an instance, or of what is below it. */
export function instancePath(id: string, below = ''): string {
  return `/instances/${encodeURIComponent(id)}${below}`;
}
