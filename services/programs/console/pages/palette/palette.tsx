import * as combobox from '@zag-js/combobox';
import { normalizeProps, useMachine } from '@zag-js/preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import type { Me } from '#console/answers';
import { fleetApi } from '#pages/fleet/api';
import { SEARCH_MAX } from '#pages/fleet/view';
import { type Command, commandOf, commandsFor, matching } from '#pages/palette/commands';
import { Refused } from '#pages/shell/api';
import { may } from '#pages/shell/session';
import { Dialog } from '#view/parts/dialog';
import { sentence } from '#view/parts/notice';
import { navigate } from '#view/shell/router';

/**
 * Pause after the last key before instances are searched, in milliseconds. A search is a request of
 * the account, so a typed word causes one request.
 */
const PAUSE_MS = 350;

/** Minimum length of a text for which instances are searched, in characters. */
const SEARCHED_MIN = 2;

/** Maximum number of instances in the palette. */
const FOUND_MAX = 5;

const GROUPS = ['Pages', 'Actions', 'Instances'] as const;

/**
 * Command palette: finds pages, actions, and instances by name or id. The highlighted command runs
 * with Enter or a click, after the palette has closed.
 */
export function Palette({
  me,
  pages,
  onClose,
}: {
  readonly me: Me;
  readonly pages: Parameters<typeof commandsFor>[1];
  readonly onClose: () => void;
}) {
  const [typed, setTyped] = useState('');
  const [fixed] = useState(() => commandsFor(me, pages, navigate));
  const { found, status } = useFound(typed.trim());
  const commands = [...matching(fixed, typed.trim()), ...found];
  const run = (id: string | undefined): void => {
    const command = commands.find((each) => each.id === id);
    if (command === undefined) return;
    onClose();
    command.run();
  };
  return (
    <Dialog title="Command palette" onClose={onClose}>
      <Commands {...{ commands, onTyped: setTyped, onRun: run }} />
      <p class="hint palette-status" role="status">
        {commands.length === 0 && status === '' ? 'Nothing matches.' : status}
      </p>
    </Dialog>
  );
}

function Commands({
  commands,
  onTyped,
  onRun,
}: {
  readonly commands: readonly Command[];
  readonly onTyped: (text: string) => void;
  readonly onRun: (id: string | undefined) => void;
}) {
  const collection = combobox.collection({
    items: [...commands],
    itemToValue: ({ id }) => id,
    itemToString: ({ text }) => text,
  });
  const service = useMachine(combobox.machine, {
    ...{ id: useId(), collection, open: true, inputBehavior: 'autohighlight' },
    ...{ selectionBehavior: 'preserve', autoFocus: true, value: [] },
    onInputValueChange: ({ inputValue }) => onTyped(inputValue),
    onValueChange: ({ value }) => onRun(value[0]),
  });
  const parts = combobox.connect(service, normalizeProps);
  // Preact types the roles of an input per `type`, so the library's union of types does not compile.
  const input: object = parts.getInputProps();
  const { id: label } = parts.getLabelProps();
  return (
    <div {...parts.getRootProps()} class="palette">
      <span id={label} class="unseen">
        Page, action or instance
      </span>
      <div {...parts.getControlProps()}>
        <input
          {...input}
          aria-labelledby={label}
          maxLength={SEARCH_MAX}
          placeholder="Page, action, or name of an instance"
        />
      </div>
      <div {...parts.getContentProps()} class="palette-list">
        {GROUPS.map((group) => {
          const own = commands.filter((command) => command.group === group);
          return own.length === 0 ? null : (
            <div key={group} {...parts.getItemGroupProps({ id: group })}>
              <p {...parts.getItemGroupLabelProps({ htmlFor: group })} class="palette-group">
                {group}
              </p>
              {own.map((command) => (
                <div
                  key={command.id}
                  {...parts.getItemProps({ item: command })}
                  class="palette-item"
                >
                  <span>{command.text}</span>
                  {command.more === undefined ? null : <span class="quiet">{command.more}</span>}
                </div>
              ))}
            </div>
          );
        })}
      </div>
    </div>
  );
}

/** Instances that a text finds, after a pause in typing. */
function useFound(text: string) {
  const [outcome, setOutcome] = useState<{ of: string; found: readonly Command[]; why?: string }>({
    ...{ of: '', found: [] },
  });
  const newest = useRef(text);
  newest.current = text;
  const isSearched = text.length >= SEARCHED_MIN && may('instances.read');
  useEffect(() => {
    if (!isSearched) return undefined;
    const timer = setTimeout(async () => {
      const next = await searched(text);
      if (newest.current === text) setOutcome({ of: text, ...next });
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text, isSearched]);
  if (!isSearched) return { found: [], status: '' };
  if (outcome.of !== text) return { found: [], status: 'Searching instances …' };
  return { found: outcome.found, status: outcome.why ?? '' };
}

async function searched(
  text: string,
): Promise<{ readonly found: readonly Command[]; readonly why?: string }> {
  const query = new URLSearchParams({ search: text, limit: String(FOUND_MAX) });
  try {
    const { data } = await fleetApi.list(query);
    return { found: data.map((instance) => commandOf(instance, navigate)) };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return { found: [], why: `Instances are not searched: ${sentence(error.message)}` };
  }
}
