import { useState } from 'preact/hooks';
import type { UsageMonth } from '#pages/answers';
import { api, usageExport } from '#pages/api';
import { counted, monthText, numberText, percentText } from '#pages/format';
import { useLoaded } from '#pages/loaded';
import { DayChart } from '#view/day-chart';
import { Empty, WhenLoaded } from '#view/notice';
import { Page } from '#view/page';
import { UsageCards } from '#view/usage-cards';

/** What the account has used: now, by day and by key, in this month and in those before. */
export function UsagePage() {
  const usage = useLoaded(api.usage);
  const months = useLoaded(api.usageMonths);
  const reload = () => {
    void usage.reload();
    void months.reload();
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
  const others = { id: 'other', name: 'No known key', cycles: other_cycles };
  const rows = other_cycles === 0 ? keys : [...keys, others];
  return (
    <section class="card" aria-labelledby="keys">
      <h2 id="keys">Cycles by key</h2>
      <table class="rows is-plain">
        <caption class="unseen">Cycles by key in {monthText(month)}</caption>
        <thead>
          <tr>
            <th scope="col">Key</th>
            <th scope="col" class="is-number">
              Cycles
            </th>
            <th scope="col" class="is-number">
              Share
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((key) => (
            <tr key={key.id}>
              <th scope="row">
                <span class="row-name">{key.name ?? 'Unnamed key'}</span>
                {key.id === 'other' ? (
                  <span class="row-more">
                    From before keys were counted, of keys that are gone, or lost in a crash
                  </span>
                ) : (
                  <code>{key.id}</code>
                )}
              </th>
              <td data-label="Cycles" class="is-number">
                {numberText(key.cycles)}
              </td>
              <td data-label="Share" class="is-number">
                {percentText(key.cycles / cycles)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
