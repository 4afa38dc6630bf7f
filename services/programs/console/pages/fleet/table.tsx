import type { ListedInstance } from '#clients/typescript/src/models';
import { type FleetList, SHOWN_ROWS } from '#pages/fleet/use-rows';
import { instanceAddress } from '#pages/fleet/view';
import { numberText, tagTexts } from '#pages/parts/format';
import { valueText } from '#view/fleet/counts';
import { SmallCourse } from '#view/fleet/small-course';
import { DriftBadge, StressBadge } from '#view/parts/levels';
import { TimeText } from '#view/parts/text';
import { VirtualTable } from '#view/parts/virtual-table';
import { Link } from '#view/shell/router';

/** Number of rows that the course of an opened row covers. */
export const COURSE_ROWS = 4;

/** Selected instances by id. */
export type Selected = ReadonlyMap<string, ListedInstance>;

type FleetTableProps = {
  readonly fleet: FleetList;
  readonly selected: Selected;
  readonly onSelect: (selected: Selected) => void;
  /** Id of the opened row. */
  readonly open: string | undefined;
  readonly onOpen: (id: string | undefined) => void;
};

/** Virtualized table of the instances that the view selects. */
export function FleetTable({ fleet, selected, onSelect, open, onOpen }: FleetTableProps) {
  const { list, first, scrollTo, setSizes } = fleet;
  const visible = Array.from({ length: Math.min(list.shown, list.rows - first) }, (_, offset) =>
    fleet.rowAt(first + offset),
  ).filter((row) => row !== undefined);
  const isAllSelected = visible.length > 0 && visible.every(({ id }) => selected.has(id));
  const selectAll = (): void => {
    const next = new Map(selected);
    for (const row of visible) {
      if (isAllSelected) next.delete(row.id);
      else next.set(row.id, row);
    }
    onSelect(next);
  };
  const toggle = (row: ListedInstance): void => {
    const next = new Map(selected);
    if (!next.delete(row.id)) next.set(row.id, row);
    onSelect(next);
  };
  return (
    <VirtualTable
      {...{ list, first, onFirst: scrollTo, onSizes: setSizes }}
      rowsHigh={SHOWN_ROWS}
      label="Rows of the instances"
      caption="Instances of this account"
      style="fleet-rows"
      head={<Head isAllSelected={isAllSelected} onSelectAll={selectAll} />}
    >
      {(index, at) => {
        const row = fleet.rowAt(index);
        if (row === undefined) return <Awaited key={`row ${index}`} at={at} />;
        const isOpen = row.id === open;
        return (
          <>
            <Row
              key={row.id}
              {...{ row, at, isOpen }}
              isSelected={selected.has(row.id)}
              onSelect={() => toggle(row)}
              onOpen={() => onOpen(isOpen ? undefined : row.id)}
            />
            {isOpen ? <CourseRow key={`course of ${row.id}`} row={row} /> : null}
          </>
        );
      }}
    </VirtualTable>
  );
}

const COLUMNS = 8;

function Head({
  isAllSelected,
  onSelectAll,
}: {
  readonly isAllSelected: boolean;
  readonly onSelectAll: () => void;
}) {
  return (
    <>
      <th scope="col" class="is-choice">
        <input
          type="checkbox"
          aria-label="Select the visible instances"
          checked={isAllSelected}
          onChange={onSelectAll}
        />
      </th>
      <th scope="col">Name</th>
      <th scope="col">Tags</th>
      <th scope="col">Stress</th>
      <th scope="col">Drift</th>
      <th scope="col">Leading mode</th>
      <th scope="col" class="is-number">
        Cycle
      </th>
      <th scope="col">Newest change</th>
    </>
  );
}

function Awaited({ at }: { readonly at: number }) {
  return (
    <tr aria-rowindex={at} aria-busy="true">
      <td colSpan={COLUMNS} class="quiet">
        …
      </td>
    </tr>
  );
}

function Row({
  row,
  at,
  isOpen,
  isSelected,
  onSelect,
  onOpen,
}: {
  readonly row: ListedInstance;
  readonly at: number;
  readonly isOpen: boolean;
  readonly isSelected: boolean;
  readonly onSelect: () => void;
  readonly onOpen: () => void;
}) {
  const { id, name, tags = {}, stress_state, drift_level, dominant_mode, changed_at } = row;
  return (
    <tr aria-rowindex={at} class={isSelected ? 'is-selected' : ''}>
      <td class="is-choice">
        <input
          type="checkbox"
          aria-label={`Select ${name}`}
          checked={isSelected}
          onChange={onSelect}
        />
      </td>
      <th scope="row">
        <button
          type="button"
          class="is-tiny fleet-open"
          aria-expanded={isOpen}
          aria-label={`Course of ${name}`}
          onClick={onOpen}
        >
          {isOpen ? '▾' : '▸'}
        </button>{' '}
        <Link to={instanceAddress(id)} class="row-name">
          {name}
        </Link>
      </th>
      <td class="is-tags" title={tagsText(tags)}>
        {tagsText(tags)}
      </td>
      <td>
        <StressBadge value={stress_state} />
      </td>
      <td>
        <DriftBadge value={drift_level} />
      </td>
      <td>{dominant_mode === undefined ? '–' : valueText(dominant_mode)}</td>
      <td class="is-number">{numberText(row.cycle_count)}</td>
      <td class="is-time">
        {changed_at === undefined ? <span class="quiet">–</span> : <TimeText at={changed_at} />}
      </td>
    </tr>
  );
}

function tagsText(tags: Readonly<Record<string, string>>): string {
  return tagTexts(tags).join(', ');
}

function CourseRow({ row }: { readonly row: ListedInstance }) {
  return (
    <tr class="course-row">
      <td colSpan={COLUMNS}>
        <SmallCourse of={row} />
      </td>
    </tr>
  );
}
