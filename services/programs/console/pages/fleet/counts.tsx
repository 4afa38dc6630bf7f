import type { FleetCounts } from '#clients/typescript/src/models';
import {
  FILTERS,
  type FilterName,
  type FleetView,
  fleetAddress,
  TAGS_MAX,
  tagToggled,
  toggled,
} from '#pages/fleet/view';
import { numberText, shareText } from '#pages/parts/format';
import { Link } from '#view/shell/router';

/** Groups of `FleetCounts`, by filter. */
const GROUP_OF = {
  stress: 'stress_states',
  drift: 'drift_levels',
  dominant_mode: 'dominant_modes',
} as const;

/** Display texts of values that need an explanation. */
const TEXTS: Readonly<Record<string, string>> = {
  D0: 'D0 within band',
  D1: 'D1 situational',
  D2: 'D2 sustained',
  D3: 'D3 breach',
  None: 'None leads',
};

/** Display text of a filter's value. */
export const valueText = (value: string): string => TEXTS[value] ?? value.replaceAll('_', ' ');

type CountsProps = { readonly counts: FleetCounts; readonly view: FleetView };

/** Counts by stress, drift and leading mode as pictures. A click on a value filters the table. */
export function CountsPart({ counts, view }: CountsProps) {
  return (
    <>
      {FILTERS.map(([name, title, values]) => (
        <Group key={name} {...{ name, title, values, counts, view }} />
      ))}
    </>
  );
}

function Group({
  name,
  title,
  values,
  counts,
  view,
}: CountsProps & {
  readonly name: FilterName;
  readonly title: string;
  readonly values: readonly string[];
}) {
  const group = counts[GROUP_OF[name]] as unknown as Readonly<Record<string, number>>;
  const known = values.map((value) => [value, group[value] ?? 0] as const);
  const sum = known.reduce((total, [, count]) => total + count, 0);
  return (
    <section class="card fleet-group" aria-labelledby={`by-${name}`}>
      <h2 id={`by-${name}`}>{title}</h2>
      <Bar of={known} sum={sum} name={name} />
      <ul>
        {known.map(([value, count]) => (
          <li key={value}>
            <Link
              to={fleetAddress(toggled(view, name, value))}
              class={`fleet-value ${view[name].includes(value) ? 'is-on' : ''}`}
            >
              <span class={`fleet-key is-${value.toLowerCase()}`} aria-hidden="true" />
              <span>{valueText(value)}</span>
              <strong>{numberText(count)}</strong>
              <span class="quiet">{sum === 0 ? '–' : shareText(count / sum)}</span>
              <span class="unseen">
                {view[name].includes(value) ? 'Remove this filter' : 'Show only these'}
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Stacked bar of the counts. */
function Bar({
  of,
  sum,
  name,
}: {
  readonly of: readonly (readonly [value: string, count: number])[];
  readonly sum: number;
  readonly name: string;
}) {
  let x = 0;
  return (
    <svg
      class={`fleet-bar is-${name}`}
      viewBox="0 0 100 10"
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <rect class="bar-track" width="100" height="10" />
      {of.map(([value, count]) => {
        const width = sum === 0 ? 0 : (100 * count) / sum;
        x += width;
        return (
          <rect
            key={value}
            class={`is-${value.toLowerCase()}`}
            x={x - width}
            width={width}
            height="10"
          />
        );
      })}
    </svg>
  );
}

/** The most frequent tags. A click filters the table. */
export function TagsPart({ counts, view }: CountsProps) {
  if (counts.tags.length === 0) return null;
  const isFull = view.tags.length >= TAGS_MAX;
  return (
    <section class="fleet-tags" aria-labelledby="tags">
      <h2 id="tags">Tags</h2>
      <ul class="tags">
        {counts.tags.map(({ key, value, count }) => {
          const isOn = view.tags.some((tag) => tag[0] === key && tag[1] === value);
          const isReplacing = view.tags.some((tag) => tag[0] === key);
          return isFull && !isOn && !isReplacing ? null : (
            <li key={JSON.stringify([key, value])}>
              <Link
                to={fleetAddress(tagToggled(view, [key, value]))}
                class={`tag ${isOn ? 'is-on' : ''}`}
              >
                {key}: {value} <span class="quiet">{numberText(count)}</span>
              </Link>
            </li>
          );
        })}
        {counts.different_tags > counts.tags.length ? (
          <li class="quiet">
            the {counts.tags.length} most frequent of {numberText(counts.different_tags)}
          </li>
        ) : null}
      </ul>
    </section>
  );
}
