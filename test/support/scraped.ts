import type { Metrics } from '#telemetry/metrics';

/** Values of all nonzero metric series in this process, by name with labels. */
async function scraped(metrics: Metrics): Promise<Readonly<Record<string, number>>> {
  const { text } = await metrics.scrape();
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const values = lines.map((line): [string, number] => {
    const end = line.lastIndexOf(' ');
    return [line.slice(0, end), Number(line.slice(end + 1))];
  });
  return Object.fromEntries(values.filter(([, value]) => value !== 0));
}

/** Nonzero series whose name with labels matches `names`, without histogram buckets. */
export async function scrapedOf(metrics: Metrics, names: RegExp) {
  const entries = Object.entries(await scraped(metrics));
  return Object.fromEntries(
    entries.filter(([name]) => names.test(name) && !name.includes('_bucket{')),
  );
}
