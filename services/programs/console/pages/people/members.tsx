import { useState } from 'preact/hooks';
import {
  type Invitation,
  type Left,
  type Member,
  type People,
  ROLES,
  type Role,
} from '#console/answers';
import { api } from '#pages/shell/api';
import { useAction, useLoaded } from '#pages/shell/loaded';
import { refreshMe, session } from '#pages/shell/session';
import { useWanted } from '#pages/shell/wanted';
import { KeyIds } from '#view/keys/key-ids';
import { FormDialog, ShownOnce, TypedName } from '#view/parts/dialog';
import { SelectField, TextField, type Values } from '#view/parts/field';
import { Empty, WhenLoaded } from '#view/parts/notice';
import { TableHead } from '#view/parts/table-head';
import { TimeText } from '#view/parts/text';
import { Page } from '#view/shell/router';

type Open = MemberAction | Done;

/** The account's members and open invitations. */
export function MembersPage() {
  const people = useLoaded(api.people);
  const [open, setOpen] = useState<Open | undefined>();
  const close = () => setOpen(undefined);
  useWanted('invite-member', () => setOpen({ kind: 'invite' }));
  return (
    <Page
      title="Members"
      lead="Members sign in to this console. Programs call the API with keys."
      actions={
        <button type="button" class="is-main" onClick={() => setOpen({ kind: 'invite' })}>
          Invite a member
        </button>
      }
    >
      <WhenLoaded loading={people} what="members">
        {(value) => <Lists people={value} onAction={setOpen} />}
      </WhenLoaded>
      <Overlay
        open={open}
        onClose={close}
        onDone={(made) => {
          setOpen(made);
          if (open?.kind === 'role' && open.member.id === ownId()) void refreshMe();
          void people.reload();
        }}
      />
    </Page>
  );
}

function Overlay({
  open,
  onClose,
  onDone,
}: {
  readonly open: Open | undefined;
  readonly onClose: () => void;
  readonly onDone: (made: Done | undefined) => void;
}) {
  if (open === undefined) return null;
  switch (open.kind) {
    case 'left':
      return <LeftDialog email={open.email} left={open.left} onClose={onClose} />;
    case 'link':
      return (
        <ShownOnce
          title="Send this link"
          label="Invitation link"
          value={open.link}
          done="I have sent it"
          onClose={onClose}
        >
          <p>
            Send it to <strong>{open.email}</strong> yourself: the console sends no mail. It works
            once, for 7 days, and is not shown again.
          </p>
        </ShownOnce>
      );
    default:
      return <MemberDialog action={open} onClose={onClose} onDone={onDone} />;
  }
}

type ListsProps = {
  readonly people: People;
  readonly onAction: (action: MemberAction) => void;
};

/** Number of members from which a search field is useful. */
const SEARCHED_MIN = 10;

/** Whether a search text occurs in the name, email, role or id of a member. */
function isFound(search: string, { name, email, role, id }: Member): boolean {
  const text = search.trim().toLowerCase();
  return [name, email, role, id].some((each) => each.toLowerCase().includes(text));
}

function Lists({ people: { members, invitations }, onAction }: ListsProps) {
  const [search, setSearch] = useState('');
  const found = members.filter((member) => isFound(search, member));
  return (
    <>
      {members.length < SEARCHED_MIN ? null : (
        <search
          class="member-search"
          onInput={(event) => setSearch((event.target as HTMLInputElement).value)}
        >
          <TextField
            {...{ name: 'search', label: 'Find a member', placeholder: 'Name, email, role or id' }}
            isFilter
          />
          <p class="quiet" role="status">
            {found.length} of {members.length} members
          </p>
        </search>
      )}
      <table class="rows">
        <caption class="unseen">Members</caption>
        <TableHead names={['Name', 'Role', 'Member since']} unseen="Actions" />
        <tbody>
          {found.map((member) => (
            <MemberRow key={member.id} {...{ member, onAction }} />
          ))}
        </tbody>
      </table>
      <section class="member-part" aria-labelledby="invitations">
        <h2 class="part-title" id="invitations">
          Open invitations
        </h2>
        {invitations.length === 0 ? (
          <Empty title="No invitation is open" />
        ) : (
          <InvitationTable invitations={invitations} onAction={onAction} />
        )}
      </section>
    </>
  );
}

function ownId(): string | undefined {
  const now = session.value;
  return now.kind === 'signed_in' ? now.me.user.id : undefined;
}

function MemberRow({
  member,
  onAction,
}: {
  readonly member: Member;
  readonly onAction: ListsProps['onAction'];
}) {
  const { id, name, email, role, joined_at: joinedAt } = member;
  return (
    <tr>
      <th scope="row">
        <span class="row-name">
          {name}
          {id === ownId() ? <span class="quiet"> (you)</span> : null}
        </span>
        <span class="row-more">{email}</span>
      </th>
      <td data-label="Role">{role}</td>
      <td data-label="Member since">
        <TimeText at={joinedAt} />
      </td>
      <td class="row-actions">
        <button
          type="button"
          class="is-small"
          aria-label={`Change role of ${email}`}
          onClick={() => onAction({ kind: 'role', member })}
        >
          Change role
        </button>
        <button
          type="button"
          class="is-small is-danger-quiet"
          aria-label={`Remove ${email}`}
          onClick={() => onAction({ kind: 'remove', member })}
        >
          Remove
        </button>
      </td>
    </tr>
  );
}

function InvitationTable({
  invitations,
  onAction,
}: {
  readonly invitations: readonly Invitation[];
  readonly onAction: ListsProps['onAction'];
}) {
  return (
    <table class="rows">
      <caption class="unseen">Open invitations</caption>
      <TableHead names={['Email', 'Role', 'Ends']} unseen="Actions" />
      <tbody>
        {invitations.map((invitation) => (
          <tr key={invitation.id}>
            <th scope="row">
              <span class="row-name">{invitation.email}</span>
              {invitation.created_by === undefined ? null : (
                <span class="row-more">by {invitation.created_by}</span>
              )}
            </th>
            <td data-label="Role">{invitation.role}</td>
            <td data-label="Ends">
              <TimeText at={invitation.expires_at} />
            </td>
            <td class="row-actions">
              <button
                type="button"
                class="is-small is-danger-quiet"
                aria-label={`Withdraw the invitation of ${invitation.email}`}
                onClick={() => onAction({ kind: 'uninvite', invitation })}
              >
                Withdraw
              </button>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Actions on members and invitations. */
type MemberAction =
  | { readonly kind: 'invite' }
  | { readonly kind: 'role'; readonly member: Member }
  | { readonly kind: 'remove'; readonly member: Member }
  | { readonly kind: 'uninvite'; readonly invitation: Invitation };

/** Roles that a person can choose, with descriptions. */
const ROLE_CHOICES: readonly (readonly [Role, string])[] = [
  ['developer', 'Developer: keys and instances'],
  ['viewer', 'Viewer: sees keys, instances and usage'],
  ['billing', 'Billing: usage and payments'],
  ['owner', 'Owner: everything'],
];

type DialogProps = {
  readonly onClose: () => void;
  /**
   * Called after the action. `made` is a new invitation link, or the consequences of the action.
   * Undefined if there is nothing to show.
   */
  readonly onDone: (made: Done | undefined) => void;
};

/** Follow-up to an action: a link to send, or keys to review. */
type Done =
  | { readonly kind: 'link'; readonly link: string; readonly email: string }
  | { readonly kind: 'left'; readonly email: string; readonly left: Left };

/** Dialog for one action. */
function MemberDialog({ action, ...props }: DialogProps & { readonly action: MemberAction }) {
  switch (action.kind) {
    case 'invite':
      return <InviteDialog {...props} />;
    case 'role':
      return <RoleDialog {...props} member={action.member} />;
    case 'remove':
      return <RemoveDialog {...props} member={action.member} />;
    case 'uninvite':
      return <TakeBackDialog {...props} invitation={action.invitation} />;
  }
}

function InviteDialog({ onClose, onDone }: DialogProps) {
  const { run, isBusy, refusal } = useAction(async ({ email = '', role: named }: Values) => {
    const role = ROLES.find((each) => each === named) ?? 'viewer';
    onDone({ kind: 'link', ...(await api.invite({ email, role })) });
  });
  return (
    <FormDialog
      {...{ title: 'Invite a member', submit: 'Create the link', onClose, isBusy, refusal }}
      fields={['email', 'role']}
      onSubmit={run}
    >
      <TextField {...{ name: 'email', label: 'Email', type: 'email', refusal }} hasFocus />
      <SelectField {...{ name: 'role', label: 'Role', choices: ROLE_CHOICES, refusal }} />
    </FormDialog>
  );
}

function RoleDialog({ member, onClose, onDone }: DialogProps & { readonly member: Member }) {
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
        <strong>{member.email}</strong> gets the new role immediately, in every browser.
      </p>
      <SelectField
        {...{ name: 'role', label: 'Role', choices: ROLE_CHOICES, value: member.role, refusal }}
      />
    </FormDialog>
  );
}

/** Returns the consequences to show. Returns undefined if there are none. */
function leftOf({ email }: Member, left: Left): Done | undefined {
  const isNothing = left.keys.length === 0 && left.cancelled_invitations.length === 0;
  return isNothing ? undefined : { kind: 'left', email, left };
}

/** Lists cancelled invitations, and keys that an owner must review. */
function LeftDialog({
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
      {...{ title: 'Check the remaining keys', submit: 'I have read this', onClose }}
      {...{ isBusy: false, refusal: undefined }}
      onSubmit={onClose}
    >
      {cancelled.length === 0 ? null : (
        <p>These invitations were withdrawn: {cancelled.map((each) => each.email).join(', ')}.</p>
      )}
      {keys.length === 0 ? null : (
        <>
          <p>
            These keys keep working, and <strong>{email}</strong> may have copies. Rotate or revoke
            the keys on the API keys page.
          </p>
          <ul>
            {keys.map(({ id, name = 'Unnamed key', masked, created_by: maker }) => (
              <li key={id}>
                {name}
                {maker === undefined ? ' (its creator is not recorded)' : ''}
                <KeyIds id={id} masked={masked} />
              </li>
            ))}
          </ul>
        </>
      )}
    </FormDialog>
  );
}

function RemoveDialog({ member, onClose, onDone }: DialogProps & { readonly member: Member }) {
  const [typed, setTyped] = useState('');
  const { run, isBusy, refusal } = useAction(async () => {
    onDone(leftOf(member, await api.removeMember(member.id)));
  });
  return (
    <FormDialog
      {...{ title: 'Remove the member', submit: 'Remove', onClose, isBusy, refusal }}
      isDangerous
      isDisabled={typed !== member.email}
      onSubmit={() => run()}
    >
      <p>
        <strong>{member.email}</strong> loses access to this account immediately, in every browser.
        Keys that this member created keep working; the next step lists these keys.
      </p>
      <TypedName label="Type the email of the member" name={member.email} onTyped={setTyped} />
    </FormDialog>
  );
}

function TakeBackDialog({
  invitation,
  onClose,
  onDone,
}: DialogProps & { readonly invitation: Invitation }) {
  const { run, isBusy, refusal } = useAction(async () => {
    await api.takeInvitationBack(invitation.id);
    onDone(undefined);
  });
  return (
    <FormDialog
      {...{ title: 'Withdraw the invitation', submit: 'Withdraw', onClose, isBusy, refusal }}
      isDangerous
      onSubmit={() => run()}
    >
      <p>
        The link that was sent to <strong>{invitation.email}</strong> stops working.
      </p>
    </FormDialog>
  );
}
