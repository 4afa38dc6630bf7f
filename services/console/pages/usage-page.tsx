import { useState } from 'preact/hooks';
import type { UsageMonth } from '#pages/answers';
import { api, usageExport } from '#pages/api';
import { counted, monthText, numberText } from '#pages/format';
import { useLoaded } from '#pages/loaded';
import { DayChart } from '#view/day-chart';
import { InstanceUsagePart } from '#view/instance-usage';
import { Empty, WhenLoaded } from '#view/notice';
import { Page } from '#view/page';
import { UsageCards } from '#view/usage-cards';
import { UsageTable } from '#view/usage-table';

/** What the account has used: now, by day and by key, in this month and in those before, and by instance. */
export function UsagePage() {
  const usage = useLoaded(api.usage);
  const months = useLoaded(api.usageMonths);
  const instances = useLoaded(api.usageInstances);
  const reload = () => {
    void usage.reload();
    void months.reload();
    void instances.reload();
  };
  return (
    <Page
      title="Usage"
      lead="Cycles are counted when a call is settled, by the day of UTC and by the key of the call."
      actions={
        <button type="button" onClick={reload}>
          Refresh
        </button>
      }
    >
      <WhenLoaded loading={usage} what="usage">
        {(value) => (
          <>
            <UsageCards usage={value} />
            <p class="quiet">
              {value.forecast === undefined
                ? 'A forecast of the month appears a day after its first use.'
                : 'The forecast is a straight line through what was used since the first day of this month with any use.'}
            </p>
          </>
        )}
      </WhenLoaded>
      <WhenLoaded loading={months} what="months">
        {(value) => <Months months={value} />}
      </WhenLoaded>
      <InstanceUsagePart loading={instances} />
    </Page>
  );
}

function Months({ months }: { readonly months: readonly UsageMonth[] }) {
  const [chosen, choose] = useState(months[0]?.month);
  const month = months.find((one) => one.month === chosen) ?? months[0];
  if (month === undefined) return null;
  const name = monthText(month.month);
  return (
    <>
      <section class="card" aria-labelledby="days">
        <div class="card-head is-wrapping">
          <h2 id="days">Cycles by day</h2>
          <div class="button-row">
            <select
              class="month"
              aria-label="Month"
              value={month.month}
              onChange={(event) => choose(event.currentTarget.value)}
            >
              {months.map((one, index) => (
                <option key={one.month} value={one.month}>
                  {monthText(one.month)}
                  {index === 0 ? ' (so far)' : ''}
                </option>
              ))}
            </select>
            {(['csv', 'json'] as const).map((format) => (
              <a
                key={format}
                class="button"
                href={usageExport(format, month.month)}
                download
                aria-label={`Export ${format.toUpperCase()} of ${name}`}
              >
                Export {format.toUpperCase()}
              </a>
            ))}
          </div>
        </div>
        {month.cycles === 0 ? (
          <Empty title={`Nothing was used in ${name}`} />
        ) : (
          <>
            <p class="figure">{counted(month.cycles, 'cycle')}</p>
            <DayChart month={month} />
            <DayTable month={month} />
          </>
        )}
      </section>
      {month.cycles === 0 ? null : <KeyUsage month={month} />}
      <p class="quiet">
        A row for each day and key of all months shown here:{' '}
        <a href={usageExport('csv')} download>
          CSV
        </a>{' '}
        or{' '}
        <a href={usageExport('json')} download>
          JSON
        </a>
      </p>
    </>
  );
}

/** The chart in numbers; days without use are left out. */
function DayTable({ month }: { readonly month: UsageMonth }) {
  return (
    <details>
      <summary>Show the days as a table</summary>
      <table class="rows is-plain is-narrow">
        <caption class="unseen">Cycles by day of {monthText(month.month)}</caption>
        <thead>
          <tr>
            <th scope="col">Day (UTC)</th>
            <th scope="col" class="is-number">
              Cycles
            </th>
          </tr>
        </thead>
        <tbody>
          {month.days
            .filter(({ cycles }) => cycles > 0)
            .map(({ date, cycles }) => (
              <tr key={date}>
                <th scope="row">{date}</th>
                <td data-label="Cycles" class="is-number">
                  {numberText(cycles)}
                </td>
              </tr>
            ))}
        </tbody>
      </table>
    </details>
  );
}

function KeyUsage({
  month: { month, cycles, keys, other_cycles },
}: {
  readonly month: UsageMonth;
}) {
  const others = {
    ...{ id: 'other', name: 'No known key', cycles: other_cycles },
    note: 'From before keys were counted, of keys that are gone, or lost in a crash',
  };
  const known = keys.map(({ name = 'Unnamed key', ...key }) => ({ ...key, name }));
  return (
    <section class="card" aria-labelledby="keys">
      <h2 id="keys">Cycles by key</h2>
      <UsageTable
        of="Key"
        caption={`Cycles by key in ${monthText(month)}`}
        rows={other_cycles === 0 ? known : [...known, others]}
        cycles={cycles}
      />
    </section>
  );
}
