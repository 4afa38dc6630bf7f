import type { Service } from '#test/support/servers/service';

/** Values of all metric series at `metricsUrl`, by full name. */
export async function metricValues({
  metricsUrl,
}: Pick<Service, 'metricsUrl'>): Promise<ReadonlyMap<string, number>> {
  const text = await (await fetch(metricsUrl)).text();
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => {
      const end = line.lastIndexOf(' ');
      return [line.slice(0, end), Number(line.slice(end + 1))];
    }),
  );
}
