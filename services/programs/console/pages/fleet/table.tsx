import type { ListedInstance } from '#pages/instances/answers';
import { levelText, numberText } from '#pages/parts/format';
import { CopyButton, TimeText } from '#view/parts/text';
import { Link } from '#view/shell/router';

/** Address of an instance's page. */
export const instanceAddress = (id: string): string => `/instances/${id}`;

/** Number of instances in a comparison. */
const COMPARED = 2;

/** Table with one page of the list. Two rows can be selected across pages. */
export function InstanceTable({
  rows,
  selected,
  onSelect,
}: {
  readonly rows: readonly ListedInstance[];
  readonly selected: readonly ListedInstance[];
  readonly onSelect: (selected: readonly ListedInstance[]) => void;
}) {
  const others = ({ id }: ListedInstance) => selected.filter((each) => each.id !== id);
  return (
    <table class="rows instances">
      <caption class="unseen">Instances of this account</caption>
      <thead>
        <tr>
          <th scope="col">
            <span class="unseen">Compare</span>
          </th>
          <th scope="col">Name and id</th>
          <th scope="col" class="is-number">
            Cycle
          </th>
          <th scope="col" class="is-number">
            Energy
          </th>
          <th scope="col">Description</th>
          <th scope="col">Created</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <Row
            key={row.id}
            of={row}
            isSelected={selected.some(({ id }) => id === row.id)}
            isFull={others(row).length >= COMPARED}
            onSelect={(isSelected) => onSelect(isSelected ? [...others(row), row] : others(row))}
          />
        ))}
      </tbody>
    </table>
  );
}

function Row({
  of,
  isSelected,
  isFull,
  onSelect,
}: {
  readonly of: ListedInstance;
  readonly isSelected: boolean;
  /** Whether the maximum number of instances is selected without this row. */
  readonly isFull: boolean;
  readonly onSelect: (isSelected: boolean) => void;
}) {
  return (
    <tr>
      <td data-label="Compare" class="is-choice">
        <input
          type="checkbox"
          aria-label={`Select ${of.name} to compare`}
          checked={isSelected}
          disabled={isFull}
          onChange={(event) => onSelect(event.currentTarget.checked)}
        />
      </td>
      <th scope="row">
        <Link to={instanceAddress(of.id)} class="row-name">
          {of.name}
        </Link>
        <span class="row-id">
          <code>{of.id}</code> <CopyButton value={of.id} what={`the id of ${of.name}`} />
        </span>
      </th>
      <td data-label="Cycle" class="is-number">
        {numberText(of.cycle_count)}
      </td>
      <td data-label="Energy" class="is-number">
        {levelText(of.energy_level)}
      </td>
      <td data-label="Description">
        {of.description === '' ? (
          <span class="quiet">None</span>
        ) : (
          <span class="clamped">{of.description}</span>
        )}
      </td>
      <td data-label="Created">
        <TimeText at={of.created_at} />
      </td>
    </tr>
  );
}
