import { type Invitation, type Left, type Member, ROLES, type Role } from '#pages/answers';
import { api } from '#pages/api';
import { useAction } from '#pages/loaded';
import { FormDialog } from '#view/dialog';
import { SelectField, TextField, type Values } from '#view/field';

/** What can be done about who is a member. */
export type MemberDeed =
  | { readonly kind: 'invite' }
  | { readonly kind: 'role'; readonly member: Member }
  | { readonly kind: 'remove'; readonly member: Member }
  | { readonly kind: 'uninvite'; readonly invitation: Invitation };

/** Roles with what each may do. */
const ROLE_CHOICES: readonly (readonly [Role, string])[] = [
  ['developer', 'Developer: keys and instances'],
  ['viewer', 'Viewer: sees keys, instances and usage'],
  ['billing', 'Billing: usage and payments'],
  ['owner', 'Owner: everything'],
];

type DeedProps = {
  readonly onClose: () => void;
  /** Called with the link of a new invitation, or with what a member leaves behind. */
  readonly onDone: (made: Done | undefined) => void;
};

/** What a deed leaves to do: a link to send, or keys to decide about. */
export type Done =
  | { readonly kind: 'link'; readonly link: string; readonly email: string }
  | { readonly kind: 'left'; readonly email: string; readonly left: Left };

/** The dialog of one deed. */
export function MemberDialog({ deed, ...props }: DeedProps & { readonly deed: MemberDeed }) {
  switch (deed.kind) {
    case 'invite':
      return <InviteDialog {...props} />;
    case 'role':
      return <RoleDialog {...props} member={deed.member} />;
    case 'remove':
      return <RemoveDialog {...props} member={deed.member} />;
    case 'uninvite':
      return <TakeBackDialog {...props} invitation={deed.invitation} />;
  }
}

function InviteDialog({ onClose, onDone }: DeedProps) {
  const { run, isBusy, refusal } = useAction(async ({ email = '', role: named }: Values) => {
    const role = ROLES.find((each) => each === named) ?? 'viewer';
    onDone({ kind: 'link', ...(await api.invite({ email, role })) });
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

function RoleDialog({ member, onClose, onDone }: DeedProps & { readonly member: Member }) {
  const { run, isBusy, refusal } = useAction(async ({ role: named }: Values) => {
    const role = ROLES.find((each) => each === named) ?? member.role;
    if (role === member.role) onDone(undefined);
    else onDone(leftOf(member, await api.changeRole(member.id, role)));
  });
  return (
    <FormDialog
      {...{ title: 'Change the role', submit: 'Change the role', onClose, isBusy, refusal }}
      fields={['role']}
      onSubmit={run}
    >
      <p>
        <strong>{member.email}</strong> gets the new role at once, in every browser.
      </p>
      <SelectField
        {...{ name: 'role', label: 'Role', choices: ROLE_CHOICES, value: member.role, refusal }}
      />
    </FormDialog>
  );
}

/** Undefined where there is nothing to report. */
function leftOf({ email }: Member, left: Left): Done | undefined {
  const isNothing = left.keys.length === 0 && left.cancelled_invitations.length === 0;
  return isNothing ? undefined : { kind: 'left', email, left };
}

/** Names the keys that an owner decides about, and the invitations that were taken back. */
export function LeftDialog({
  email,
  left: { keys, cancelled_invitations: cancelled },
  onClose,
}: {
  readonly email: string;
  readonly left: Left;
  readonly onClose: () => void;
}) {
  return (
    <FormDialog
      {...{ title: 'Decide about what is left', submit: 'I have read this', onClose }}
      {...{ isBusy: false, refusal: undefined }}
      onSubmit={onClose}
    >
      {cancelled.length === 0 ? null : (
        <p>These invitations were taken back: {cancelled.map((each) => each.email).join(', ')}.</p>
      )}
      {keys.length === 0 ? null : (
        <>
          <p>
            These keys go on working, and <strong>{email}</strong> may have kept them. Rotate or
            revoke them on the page of API keys.
          </p>
          <ul>
            {keys.map(({ id, name, created_by: maker }) => (
              <li key={id}>
                {name ?? id}
                {maker === undefined ? ' (its maker is not recorded)' : ''}
              </li>
            ))}
          </ul>
        </>
      )}
    </FormDialog>
  );
}

function RemoveDialog({ member, onClose, onDone }: DeedProps & { readonly member: Member }) {
  const { run, isBusy, refusal } = useAction(async () => {
    onDone(leftOf(member, await api.removeMember(member.id)));
  });
  return (
    <FormDialog
      {...{ title: 'Remove the member', submit: 'Remove', onClose, isBusy, refusal }}
      isDangerous
      onSubmit={() => run()}
    >
      <p>
        <strong>{member.email}</strong> loses this account at once, in every browser. Keys that they
        made go on working; you decide about them next.
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
