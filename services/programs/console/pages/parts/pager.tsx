import type { ListedInstance } from '#pages/instances/answers';
import { numberText } from '#pages/parts/format';
import { Link } from '#view/shell/router';

/** Range of visible rows, and links to the previous and next page. */
export function Pager({
  offset,
  limit,
  shown,
  total,
  what,
  addressOf,
}: {
  readonly offset: number;
  readonly limit: number;
  /** Number of rows on this page. */
  readonly shown: number;
  readonly total: number;
  /** Kind of rows, as in "1 to 20 of 137 instances". */
  readonly what: string;
  readonly addressOf: (offset: number) => string;
}) {
  const last = offset + shown;
  return (
    <div class="pager">
      <p class="quiet" role="status">
        {numberText(offset + 1)} to {numberText(last)} of {numberText(total)} {what}
      </p>
      <Step text="Previous" to={offset > 0 ? addressOf(Math.max(0, offset - limit)) : undefined} />
      <Step text="Next" to={last < total ? addressOf(last) : undefined} />
    </div>
  );
}

function Step({ text, to }: { readonly text: string; readonly to: string | undefined }) {
  return to === undefined ? (
    <button type="button" disabled>
      {text}
    </button>
  ) : (
    <Link to={to} class="button">
      {text}
    </Link>
  );
}

/** Comparison address. */
const compareAddress = (first: string, second: string): string =>
  `/instances/compare?${new URLSearchParams({ a: first, b: second })}`;

/** Bar with the selected instances and the link to compare them. Empty without a selection. */
export function SelectedBar({
  selected,
  onClear,
}: {
  readonly selected: readonly ListedInstance[];
  readonly onClear: () => void;
}) {
  const [first, second] = selected;
  return (
    <div class={first === undefined ? '' : 'selected-bar'} role="status">
      {first === undefined ? null : (
        <>
          <p>
            <strong>{selected.map(({ name }) => name).join(' and ')}</strong>
            {second === undefined ? ' selected. Select one more to compare.' : ' selected.'}
          </p>
          {second === undefined ? null : (
            <Link to={compareAddress(first.id, second.id)} class="button is-main">
              Compare
            </Link>
          )}
          <button type="button" onClick={onClear}>
            Clear
          </button>
        </>
      )}
    </div>
  );
}
