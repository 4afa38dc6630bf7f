import { ACTION_GROUPS } from '#pages/audit/words';
import { SelectField, submitted, TextField, type Values } from '#view/parts/field';

const RESULTS = [
  ['', 'Any'],
  ['done', 'Done'],
  ['refused', 'Refused'],
  ['failed', 'Failed'],
  ['repeated', 'Repeated'],
  ['running', 'In progress'],
  ['unknown', 'Unknown'],
] as const;

/** Filters of the audit trail. Passes them to `onFilter` as a query that starts with `?`. */
export function AuditFilters({
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
          {...{ name: 'search', label: 'Search', value: textIn('search'), maxLength: 200 }}
          placeholder="Name, email or id"
          isFilter
        />
        <SelectField
          {...{ name: 'action', label: 'Action', value: textIn('action') }}
          choices={[['', 'Any']]}
          groups={ACTION_GROUPS}
        />
        <SelectField
          {...{ name: 'result', label: 'Outcome', choices: RESULTS, value: textIn('result') }}
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
          <button type="submit">Search</button>
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
