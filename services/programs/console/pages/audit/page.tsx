import { useEffect, useState } from 'preact/hooks';
import type { AuditLine } from '#console/answers';
import { inWords } from '#pages/parts/format';
import { AUDIT_EXPORT, api, type Refused } from '#pages/shell/api';
import { useAction } from '#pages/shell/loaded';
import { SelectField, submitted, TextField, type Values } from '#view/parts/field';
import { Empty, RefusalNotice, Skeleton } from '#view/parts/notice';
import { TimeText } from '#view/parts/text';
import { navigate, Page } from '#view/shell/router';

/** Number of lines per request. Fills about two screens. */
const PAGE_LINES = '50';

type Trail = { readonly lines: readonly AuditLine[]; readonly cursor: string | null };

/**
 * Page of the account's audit trail, newest lines first. The query of the page address holds the
 * filters.
 */
export function AuditPage({ query }: { readonly query: string }) {
  return (
    <Page
      title="Audit trail"
      lead="Every change in this account, with its author, address and outcome. Lines never change."
      actions={
        <a class="button" href={AUDIT_EXPORT} download="audit.ndjson">
          Export as NDJSON
        </a>
      }
    >
      {/* If the query changes, new keys make Preact create both components again. */}
      <AuditFilters
        key={`filters ${query}`}
        query={query}
        onFilter={(next) => navigate(`/audit${next}`)}
      />
      <Lines key={`lines ${query}`} query={query} />
    </Page>
  );
}

/** Loaded lines for a query, and a button that loads the next page. */
function Lines({ query }: { readonly query: string }) {
  const [trail, setTrail] = useState<Trail | undefined>();
  const more = useAction(async () => {
    const { data, pagination } = await api.audit(pageQueryOf(query, trail?.cursor));
    setTrail({ lines: [...(trail?.lines ?? []), ...data], cursor: pagination.next_cursor });
  });
  useEffect(() => more.run(), []);
  return (
    <>
      {trail === undefined && more.refusal === undefined ? <Skeleton what="lines" /> : null}
      {trail === undefined ? null : <Shown trail={trail} isFiltered={query !== ''} />}
      <RefusalNotice refusal={more.refusal} />
      <More trail={trail} isBusy={more.isBusy} refusal={more.refusal} onMore={() => more.run()} />
    </>
  );
}

function pageQueryOf(query: string, cursor: string | null | undefined): URLSearchParams {
  const params = new URLSearchParams(query);
  params.set('limit', PAGE_LINES);
  if (cursor !== null && cursor !== undefined) params.set('cursor', cursor);
  return params;
}

function Shown({ trail, isFiltered }: { readonly trail: Trail; readonly isFiltered: boolean }) {
  if (trail.lines.length > 0) return <AuditTable lines={trail.lines} />;
  if (trail.cursor !== null) return <p class="quiet">No matching line yet. Older lines exist.</p>;
  return isFiltered ? (
    <Empty title="No line matches the filters">
      <p>Remove a filter, or choose a longer period.</p>
    </Empty>
  ) : (
    <Empty title="The audit trail is empty" />
  );
}

function More({
  trail,
  isBusy,
  refusal,
  onMore,
}: {
  readonly trail: Trail | undefined;
  readonly isBusy: boolean;
  readonly refusal: Refused | undefined;
  readonly onMore: () => void;
}) {
  if (trail === undefined && refusal === undefined) return null;
  if (trail !== undefined && trail.cursor === null && refusal === undefined) {
    return trail.lines.length === 0 ? null : <p class="quiet is-end">This is the oldest line.</p>;
  }
  return (
    <p class="is-end">
      <button type="button" onClick={onMore} disabled={isBusy}>
        {isBusy ? 'Loading …' : refusal === undefined ? 'Load older lines' : 'Try again'}
      </button>
    </p>
  );
}

const COLUMNS = 6;

/** Audit line table. Each line expands to its details. */
function AuditTable({ lines }: { readonly lines: readonly AuditLine[] }) {
  return (
    <table class="rows">
      <caption class="unseen">Lines of the audit trail, newest first</caption>
      <thead>
        <tr>
          <th scope="col">Time</th>
          <th scope="col">Action</th>
          <th scope="col">Target</th>
          <th scope="col">Actor</th>
          <th scope="col">Outcome</th>
          <th scope="col">
            <span class="unseen">Details</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {lines.map((line) => (
          <Line key={`${line.month} ${line.seq}`} line={line} />
        ))}
      </tbody>
    </table>
  );
}

function Line({ line }: { readonly line: AuditLine }) {
  const [isOpen, setOpen] = useState(false);
  const { at, action, target, actor, address, outcome } = line;
  return (
    <>
      <tr class={isOpen ? 'is-open' : ''}>
        <td data-label="Time" class="is-time">
          <TimeText at={at} precision="second" />
        </td>
        <th scope="row">
          <code>{action}</code>
        </th>
        <td data-label="Target" class="is-id">
          {target ?? <span class="quiet">–</span>}
        </td>
        <td data-label="Actor">
          <span class="is-id">{actor.id ?? actor.kind}</span>
          <span class="row-more">
            {[actor.id === undefined ? undefined : actor.kind, address]
              .filter((each) => each !== undefined)
              .join(' · ')}
          </span>
        </td>
        <td data-label="Outcome">
          <span class={`badge ${outcomeClass(outcome)}`}>{inWords(outcome)}</span>
        </td>
        <td class="row-actions">
          <button
            type="button"
            class="is-small"
            aria-expanded={isOpen}
            aria-label={`Details of line ${line.seq}, ${action}`}
            onClick={() => setOpen(!isOpen)}
          >
            Details
          </button>
        </td>
      </tr>
      {isOpen ? (
        <tr class="details-row">
          <td colSpan={COLUMNS}>
            <Details line={line} />
          </td>
        </tr>
      ) : null}
    </>
  );
}

function Details({ line }: { readonly line: AuditLine }) {
  const { month, seq, actor, request_id: requestId, of, before, after } = line;
  const facts = [
    ['Line', `${month}, ${seq}`],
    ['Outcome of line', of],
    ['Request', requestId],
    ['Session', actor.session],
    ['Name', actor.name],
  ].filter((fact): fact is [string, string] => fact[1] !== undefined);
  return (
    <>
      <dl class="facts">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {before === undefined && after === undefined ? (
        <p class="quiet">This action changed no values.</p>
      ) : (
        <Changes before={before ?? {}} after={after ?? {}} />
      )}
    </>
  );
}

type Fields = Readonly<Record<string, unknown>>;

/** Values before and after, one row per field. */
function Changes({ before, after }: { readonly before: Fields; readonly after: Fields }) {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return (
    <table class="rows is-plain is-narrow">
      <thead>
        <tr>
          <th scope="col">Field</th>
          <th scope="col">Before</th>
          <th scope="col">After</th>
        </tr>
      </thead>
      <tbody>
        {names.map((name) => (
          <tr key={name}>
            <th scope="row">{inWords(name)}</th>
            <td data-label="Before">{textOf(before[name])}</td>
            <td data-label="After">{textOf(after[name])}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function textOf(value: unknown): string {
  if (value === undefined) return '–';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function outcomeClass(outcome: string): string {
  switch (outcome) {
    case 'done':
      return 'is-good';
    case 'begun':
    case 'repeated':
      return 'is-quiet';
    default:
      return 'is-warning';
  }
}

const OUTCOMES = [
  ['', 'Any'],
  ['done', 'Done'],
  ['begun', 'Begun'],
  ['repeated', 'Repeated'],
  ['forbidden', 'Refused: forbidden'],
  ['invalid_request', 'Refused: invalid request'],
  ['unauthorized', 'Refused: unauthorized'],
  ['not_found', 'Refused: not found'],
  ['conflict', 'Refused: conflict'],
  ['service_unavailable', 'Failed: service unavailable'],
  ['internal', 'Failed: internal error'],
] as const;

/** Filters of the audit trail. Passes them to `onFilter` as a query that starts with `?`. */
function AuditFilters({
  query,
  onFilter,
}: {
  readonly query: string;
  readonly onFilter: (query: string) => void;
}) {
  const now = new URLSearchParams(query);
  const textIn = (name: string) => now.get(name) ?? '';
  return (
    <search>
      <form class="filters" onSubmit={submitted((given) => onFilter(filterQueryOf(given)))}>
        <TextField
          {...{
            name: 'action',
            label: 'Action',
            value: textIn('action'),
            placeholder: 'key.revoke',
          }}
          isFilter
        />
        <TextField
          {...{ name: 'actor', label: 'Actor', value: textIn('actor'), placeholder: 'usr_…' }}
          isFilter
        />
        <SelectField
          {...{ name: 'outcome', label: 'Outcome', choices: OUTCOMES, value: textIn('outcome') }}
        />
        <TextField
          {...{ name: 'from', label: 'From', type: 'datetime-local' }}
          value={localOf(textIn('from'))}
          isFilter
        />
        <TextField
          {...{ name: 'until', label: 'Until', type: 'datetime-local' }}
          value={localOf(textIn('until'))}
          isFilter
        />
        <div class="filter-buttons">
          <button type="submit">Filter</button>
          {query === '' ? null : (
            <button type="button" class="is-link" onClick={() => onFilter('')}>
              Clear
            </button>
          )}
        </div>
      </form>
    </search>
  );
}

function filterQueryOf(values: Values): string {
  const params = new URLSearchParams();
  for (const [name, typed] of Object.entries(values)) {
    const text = typed.trim();
    if (text === '') continue;
    const isTime = name === 'from' || name === 'until';
    params.set(name, isTime ? new Date(text).toISOString() : text);
  }
  const query = params.toString();
  return query === '' ? '' : `?${query}`;
}

/** Formats a time for a `datetime-local` field: local time without a zone. */
function localOf(at: string): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return '';
  const shifted = new Date(date.getTime() - date.getTimezoneOffset() * 60_000);
  return shifted.toISOString().slice(0, 16);
}
