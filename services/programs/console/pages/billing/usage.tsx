import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { InstanceUsage, Usage, UsageMonth } from '#console/answers';
import { instanceAddress } from '#pages/fleet/view';
import { counted, monthText, numberText, percentText, shareText } from '#pages/parts/format';
import { api, instanceUsageExport, usageExport } from '#pages/shell/api';
import { type Loading, useLoaded } from '#pages/shell/loaded';
import { may } from '#pages/shell/session';
import { KeyIds } from '#view/keys/key-ids';
import { DayChart } from '#view/parts/day-chart';
import { Empty, WhenLoaded } from '#view/parts/notice';
import { Ring } from '#view/parts/ring';
import { TimeText } from '#view/parts/text';
import { Link, Page } from '#view/shell/router';

/** Usage page: present minute and month, past months by day and key, and usage by instance. */
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
      lead="Cycles are counted at the settlement of a call, by day (UTC) and by key."
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
                : 'The forecast is linear, from the first day of this month with usage.'}
            </p>
          </>
        )}
      </WhenLoaded>
      {/* Each part appears after the part above, so that no part moves. */}
      {usage.loaded.kind === 'loading' ? null : (
        <WhenLoaded loading={months} what="months">
          {(value) => <Months months={value} />}
        </WhenLoaded>
      )}
      {usage.loaded.kind === 'loading' || months.loaded.kind === 'loading' ? null : (
        <InstanceUsagePart loading={instances} />
      )}
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
          <Empty title={`No usage in ${name}`} />
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
        Download a row for each day and key, for all months that this page shows:{' '}
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

/** Table of the chart's values. Days without usage are left out. */
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
    note: 'Used before counting by key began, by deleted keys, or lost in a crash',
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

/** Rings for the present month and minute. */
export function UsageCards({ usage }: { readonly usage: Usage }) {
  return (
    <div class="cards">
      <MonthCard usage={usage} />
      <MinuteCard usage={usage} />
    </div>
  );
}

function MonthCard({ usage }: { readonly usage: Usage }) {
  const { cycles_used: cycles, cycles_per_month: most, forecast } = usage;
  return (
    <Meter id="month">
      <Ring
        share={cycles / most}
        {...(forecast && { expected: forecast.cycles / most })}
        label={`${counted(cycles, 'cycle')} of ${numberText(most)} used this month`}
      />
      <div>
        <h2 id="month">This month</h2>
        <p class="figure">
          {numberText(cycles)} <span class="quiet">of {counted(most, 'cycle')}</span>
        </p>
        <p class="quiet">
          Resets <TimeText at={usage.month_ends_at} />
        </p>
        <Forecast usage={usage} />
      </div>
    </Meter>
  );
}

/** Forecast of the cycles in this month. Renders nothing if there is too little data. */
function Forecast({ usage: { forecast, cycles_per_month: most } }: { readonly usage: Usage }) {
  if (forecast === undefined) return null;
  const { cycles, used_up_at: usedUpAt } = forecast;
  return (
    <p>
      {usedUpAt === undefined ? (
        <>
          At this rate about {counted(cycles, 'cycle')} by the end of the month (
          {percentText(cycles / most)})
        </>
      ) : (
        <strong class="warning-text">
          At this rate the month’s quota is used up on <TimeText at={usedUpAt} />
        </strong>
      )}
    </p>
  );
}

function MinuteCard({ usage }: { readonly usage: Usage }) {
  const { requests_in_window: requests, requests_per_minute: most } = usage;
  const { window_resets_at: resetsAt } = usage;
  return (
    <Meter id="minute">
      <Ring
        share={requests / most}
        label={`${counted(requests, 'request')} of ${numberText(most)} used this minute`}
      />
      <div>
        <h2 id="minute">This minute</h2>
        <p class="figure">
          {numberText(requests)} <span class="quiet">of {counted(most, 'request')}</span>
        </p>
        <p class="quiet">
          {resetsAt === undefined ? (
            'The next request starts a new minute'
          ) : (
            <>
              Resets <TimeText at={resetsAt} precision="second" />
            </>
          )}
        </p>
      </div>
    </Meter>
  );
}

function Meter({ id, children }: { readonly id: string; readonly children: ComponentChildren }) {
  return (
    <section class="card meter" aria-labelledby={id}>
      {children}
    </section>
  );
}

/** Usage by one key or instance. `note` replaces the id in the row. */
type UsedRow = {
  readonly id: string;
  readonly name: ComponentChildren;
  /** Masked value of a key. */
  readonly masked?: string | undefined;
  readonly note?: string;
  readonly cycles: number;
};

/** Table with the cycles of each row, and the row's share of the total `cycles`. */
function UsageTable({
  of,
  caption,
  rows,
  cycles,
}: {
  /** Column heading, for example `Key`. */
  readonly of: string;
  readonly caption: string;
  readonly rows: readonly UsedRow[];
  readonly cycles: number;
}) {
  return (
    <table class="rows is-plain">
      <caption class="unseen">{caption}</caption>
      <thead>
        <tr>
          <th scope="col">{of}</th>
          <th scope="col" class="is-number">
            Cycles
          </th>
          <th scope="col" class="is-number">
            Share
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.id}>
            <th scope="row">
              <span class="row-name">{row.name}</span>
              {row.note === undefined ? (
                <KeyIds id={row.id} masked={row.masked} />
              ) : (
                <span class="row-more">{row.note}</span>
              )}
            </th>
            <td data-label="Cycles" class="is-number">
              {numberText(row.cycles)}
            </td>
            <td data-label="Share" class="is-number">
              {shareText(cycles === 0 ? 0 : row.cycles / cycles)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Instances with the most cycles in the present month. */
function InstanceUsagePart({ loading }: { readonly loading: Loading<InstanceUsage> }) {
  const { loaded } = loading;
  const month = loaded.kind === 'ready' ? monthText(loaded.value.month) : undefined;
  return (
    <section class="card" aria-labelledby="instances">
      <div class="card-head is-wrapping">
        <h2 id="instances">Cycles by instance{month === undefined ? '' : `, ${month} so far`}</h2>
        {loaded.kind === 'ready' && loaded.value.instances.length > 0 ? (
          <div class="button-row">
            {(['csv', 'json'] as const).map((format) => (
              <a
                key={format}
                class="button"
                href={instanceUsageExport(format)}
                download
                aria-label={`Export ${format.toUpperCase()} of instances`}
              >
                Export {format.toUpperCase()}
              </a>
            ))}
          </div>
        ) : null}
      </div>
      <WhenLoaded loading={loading} what="usage by instance">
        {(value) => <Used used={value} />}
      </WhenLoaded>
    </section>
  );
}

function Used({ used }: { readonly used: InstanceUsage }) {
  const { instances, other_cycles: others, cycles } = used;
  const rest = {
    ...{ id: 'other', name: 'Others', cycles: others },
    note: 'Other and deleted instances, cycles before a reset or of another month, calls in flight',
  };
  const rows = instances.map(({ id, name, ...row }) => {
    const shown = may('instances.read') ? <Link to={instanceAddress(id)}>{name}</Link> : name;
    return { ...row, id, name: shown };
  });
  return (
    <>
      {used.is_complete ? null : <Incomplete used={used} />}
      {instances.length === 0 ? (
        <Empty title={`No instance has observations in ${monthText(used.month)}`} />
      ) : (
        <UsageTable
          of="Instance"
          caption={`Cycles by instance in ${monthText(used.month)}`}
          rows={others === 0 ? rows : [...rows, rest]}
          cycles={cycles}
        />
      )}
      <p class="quiet">
        The 20 instances with the most cycles since the month began (UTC). This table uses the
        timestamp of each observation, or the time of processing if there is no timestamp. The rest
        of this page uses the time of settlement. As of{' '}
        <TimeText at={used.as_of} precision="second" />; updated at most once a minute.
      </p>
    </>
  );
}

/**
 * Notice that explains why an unlisted instance may have used more cycles than a listed instance.
 */
function Incomplete({ used }: { readonly used: InstanceUsage }) {
  const { instances_listed: listed, instances_total: total } = used;
  return (
    <p class="notice" role="status">
      <strong>This table may be incomplete.</strong>{' '}
      {listed < total
        ? `The table covers the newest ${numberText(listed)} of ${counted(total, 'instance')}.`
        : 'The time limit was reached. Instances with the most cycles in total were read first.'}
    </p>
  );
}
