import { TextField } from '#view/field';

/** Asks for a name to be typed, so that what cannot be undone is not done by mistake. */
export function TypedName({
  label,
  name,
  onTyped,
}: {
  readonly label: string;
  readonly name: string;
  readonly onTyped: (text: string) => void;
}) {
  return (
    <div onInput={(event) => onTyped((event.target as HTMLInputElement).value)}>
      <TextField name="confirmation" label={label} hint={<code>{name}</code>} hasFocus />
    </div>
  );
}
