import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import {
  firstRowAt,
  rowAfterKey,
  type ScrolledList,
  scrollHeightOf,
  scrollTopOf,
} from '#pages/parts/scrolled-list';

/** Measured heights of a row and of the viewport. */
type Sizes = Pick<ScrolledList, 'rowPx' | 'viewPx'>;

type VirtualTableProps = {
  readonly list: ScrolledList;
  /** Index of the first visible row. */
  readonly first: number;
  readonly onFirst: (first: number) => void;
  /** Called with measured heights. */
  readonly onSizes: (sizes: Sizes) => void;
  /** Height of the viewport without the head, in rows. */
  readonly rowsHigh: number;
  /** Name of the scrolled region, for screen readers. */
  readonly label: string;
  readonly caption: string;
  /** Class of the table. */
  readonly style: string;
  /** Cells of the head. */
  readonly head: ComponentChildren;
  /** Renders a row. `at` is its position for `aria-rowindex`. */
  readonly children: (index: number, at: number) => ComponentChildren;
};

/**
 * Virtualized table: only visible rows are in the document. The scroll height covers all rows, up
 * to the browsers' limit. Arrow and page keys always move by whole rows, also beyond that limit.
 */
export function VirtualTable(props: VirtualTableProps) {
  const { list, first, rowsHigh, label, caption, style, head, children } = props;
  const { box, body, onScroll, moveTo } = useScrolling(props);
  const count = Math.max(0, Math.min(list.shown, list.rows - first));
  const onKeyDown = (event: KeyboardEvent) => {
    // The focused element inside a row handles its own keys.
    const next = event.target === box.current ? rowAfterKey(event.key, first, list) : undefined;
    if (next === undefined) return;
    event.preventDefault();
    moveTo(next);
  };
  return (
    // Focusable, so that the keyboard can scroll the rows.
    <section
      ref={box}
      class="scrolled"
      aria-label={label}
      style={{ '--shown': rowsHigh }}
      {...{ tabIndex: 0, onScroll, onKeyDown }}
    >
      <div class="scrolled-height" style={{ height: `${scrollHeightOf(list)}px` }}>
        <table class={`scrolled-rows ${style}`} aria-rowcount={list.rows + 1}>
          <caption class="unseen">{caption}</caption>
          <thead>
            <tr aria-rowindex={1}>{head}</tr>
          </thead>
          <tbody ref={body}>
            {Array.from({ length: count }, (_, offset) =>
              children(first + offset, first + offset + 2),
            )}
          </tbody>
        </table>
      </div>
    </section>
  );
}

/** Keeps the list position and the scroll position in sync. */
function useScrolling({ list, first, onFirst, onSizes }: VirtualTableProps) {
  const box = useRef<HTMLElement>(null);
  const body = useRef<HTMLTableSectionElement>(null);
  /** Last scroll position that this code set. The scroll event for this position is ignored. */
  const own = useRef(-1);
  useEffect(() => {
    // Row heights change with the font and the width.
    const sizes = new ResizeObserver(() => {
      const rowPx = body.current?.rows[0]?.getBoundingClientRect().height ?? 0;
      const viewPx = box.current?.clientHeight ?? 0;
      if (rowPx > 0 && viewPx > 0) onSizes({ rowPx, viewPx });
    });
    if (body.current !== null) sizes.observe(body.current);
    return () => sizes.disconnect();
  }, []);
  useEffect(() => {
    // The owner of the position may move the list, for example back to its newest rows.
    if (box.current === null || firstRowAt(list, box.current.scrollTop) === first) return;
    box.current.scrollTop = scrollTopOf(list, first);
    own.current = box.current.scrollTop;
  }, [first]);
  const moveTo = (next: number) => {
    onFirst(next);
    if (box.current === null) return;
    box.current.scrollTop = scrollTopOf(list, next);
    own.current = box.current.scrollTop;
  };
  const onScroll = () => {
    const { scrollTop } = box.current ?? { scrollTop: 0 };
    if (Math.abs(scrollTop - own.current) < 1) return;
    own.current = -1;
    const next = firstRowAt(list, scrollTop);
    if (next !== first) onFirst(next);
  };
  return { box, body, onScroll, moveTo };
}
