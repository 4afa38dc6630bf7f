import { type Invitation, type Member, ROLES, type Role } from '#pages/answers';
import { api } from '#pages/api';
import { useAction } from '#pages/loaded';
import { FormDialog } from '#view/dialog';
import { SelectField, TextField, type Values } from '#view/field';

/** What can be done about who is a member. */
export type MemberDeed =
  | { readonly kind: 'invite' }
  | { readonly kind: 'remove'; readonly member: Member }
  | { readonly kind: 'uninvite'; readonly invitation: Invitation };

/** Roles with what each may do. */
export const ROLE_CHOICES: readonly (readonly [Role, string])[] = [
  ['developer', 'Developer: keys and instances'],
  ['viewer', 'Viewer: sees keys, instances and usage'],
  ['billing', 'Billing: usage and payments'],
  ['owner', 'Owner: everything'],
];

type DeedProps = {
  readonly onClose: () => void;
  /** Called with the link of a new invitation. */
  readonly onDone: (made: { readonly link: string; readonly email: string } | undefined) => void;
};

/** The dialog of one deed. */
export function MemberDialog({ deed, ...props }: DeedProps & { readonly deed: MemberDeed }) {
  switch (deed.kind) {
    case 'invite':
      return <InviteDialog {...props} />;
    case 'remove':
      return <RemoveDialog {...props} member={deed.member} />;
    case 'uninvite':
      return <TakeBackDialog {...props} invitation={deed.invitation} />;
  }
}

function InviteDialog({ onClose, onDone }: DeedProps) {
  const { run, isBusy, refusal } = useAction(async ({ email = '', role: named }: Values) => {
    const role = ROLES.find((each) => each === named) ?? 'viewer';
    onDone(await api.invite({ email, role }));
  });
  return (
    <FormDialog
      {...{ title: 'Invite a member', submit: 'Make the link', onClose, isBusy, refusal }}
      fields={['email', 'role']}
      onSubmit={run}
    >
      <TextField {...{ name: 'email', label: 'Email', type: 'email', refusal }} hasFocus />
      <SelectField {...{ name: 'role', label: 'Role', choices: ROLE_CHOICES, refusal }} />
    </FormDialog>
  );
}

function RemoveDialog({ member, onClose, onDone }: DeedProps & { readonly member: Member }) {
  const { run, isBusy, refusal } = useAction(async () => {
    await api.removeMember(member.id);
    onDone(undefined);
  });
  return (
    <FormDialog
      {...{ title: 'Remove the member', submit: 'Remove', onClose, isBusy, refusal }}
      isDangerous
      onSubmit={() => run()}
    >
      <p>
        <strong>{member.email}</strong> loses this account at once, in every browser. Keys that they
        made go on working.
      </p>
    </FormDialog>
  );
}

function TakeBackDialog({
  invitation,
  onClose,
  onDone,
}: DeedProps & { readonly invitation: Invitation }) {
  const { run, isBusy, refusal } = useAction(async () => {
    await api.takeInvitationBack(invitation.id);
    onDone(undefined);
  });
  return (
    <FormDialog
      {...{ title: 'Take the invitation back', submit: 'Take back', onClose, isBusy, refusal }}
      isDangerous
      onSubmit={() => run()}
    >
      <p>
        The link that was sent to <strong>{invitation.email}</strong> does not work any more.
      </p>
    </FormDialog>
  );
}
