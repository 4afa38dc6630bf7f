import { SelectField, submitted, TextField, type Values } from '#view/field';

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

/** Filters of the audit trail; `onFilter` gets them as a query, from its `?` on. */
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
      <form class="filters" onSubmit={submitted((given) => onFilter(queryOf(given)))}>
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

function queryOf(values: Values): string {
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

/** A time as its field has it: local, without a zone. */
function localOf(at: string): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return '';
  const shifted = new Date(date.getTime() - date.getTimezoneOffset() * 60_000);
  return shifted.toISOString().slice(0, 16);
}
