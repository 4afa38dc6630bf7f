import { SelectField } from '#view/parts/field';

const RESETS = [
  ['default', 'To the last stable state'],
  ['initial', 'To the initial state'],
] as const;

/** Field `mode` of a form: the state to which a reset leads. */
export function ResetField() {
  return <SelectField {...{ name: 'mode', label: 'Reset', choices: RESETS, value: 'default' }} />;
}
