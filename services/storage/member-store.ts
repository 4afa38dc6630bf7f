import type { EntryLink, Membership, People } from '#accounts/people';
import type { Role } from '#accounts/role';

/** Who enters by which link, and when. */
export type Entry = {
  readonly accountId: string;
  readonly digest: string;
  readonly userId: string;
  readonly atMs: number;
};

/** The address of a member, whose open invitations go with the membership or with the right to invite. */
export type Leaving = { readonly email?: string };

/** `lastOwnerToo`: whether a membership goes although no owner is left then. */
export type Removal = Leaving & { readonly lastOwnerToo?: boolean };

/**
 * Who may do what in which account, and the links by which others enter. All of one account changes as
 * a whole, so a link is used once, and an account that has an owner keeps one, however many write at
 * the same time. Durability and faults are those of `UserStore`. Source: decision 245.
 */
export interface MemberStore {
  /** The people of an account; of one that is not known `NO_PEOPLE`. */
  find(accountId: string): Promise<People>;

  /** The memberships of a user, by account id. */
  accountsOf(userId: string): Promise<Membership[]>;

  /**
   * Adds a link. Rejects with `conflict` if the account is closed or has `LINKS_MAX` links. An earlier
   * invitation of the same address, or an earlier set-up link, is no longer one.
   */
  addLink(link: EntryLink): Promise<void>;

  /** Takes a link back. Rejects with `not_found` if there is none. */
  dropLink(accountId: string, digest: string): Promise<void>;

  /**
   * Makes a user a member by a link, which is used by that. Rejects with `not_found`
   * (`link_not_usable`) if there is no such link or its time is over, and with `conflict` if the user
   * is a member or the account has `MEMBERS_MAX`; then the link stays.
   */
  enter(entry: Entry): Promise<Membership>;

  /**
   * Gives a member another role. Where the member may invite no more, `linksLeft` holds. Rejects with `not_found` if there is none, and with `conflict`
   * (`last_owner`) if no owner were left.
   */
  setRole(accountId: string, userId: string, role: Role, leaving?: Leaving): Promise<Membership>;

  /**
   * Takes a membership away, and links as in `linksLeft`. Rejects as `setRole`; with `lastOwnerToo` not for the last owner: then a
   * set-up link lets another one in.
   */
  remove(accountId: string, userId: string, options?: Removal): Promise<void>;

  /**
   * Takes everyone and every link out of an account that is being deleted, for good: no one enters any
   * more. Answers who was a member. May be repeated.
   */
  close(accountId: string): Promise<string[]>;
}

/** Members as tools bring them from another store. */
export interface CopiedMembers extends MemberStore {
  /**
   * Gives an account its people, as a whole; the same again changes nothing. Rejects with `conflict`
   * if it has others.
   */
  put(accountId: string, people: People): Promise<void>;
}
