/** The issuer that signs players in, if the operator has configured one (docs/operator.md). */
import { signal } from "@preact/signals"

/** The contents of `sign-in.json`, which the edge serves beside the page. */
export interface Issuer {
  issuer: string
  client_id: string
  scope: string
  /** Further parameters of requests to the issuer, such as `audience`. */
  parameters: Record<string, string>
  /** As DURAK_TOKEN_ROLES_CLAIM and DURAK_TOKEN_DEFAULT_ROLE of the service. */
  roles_claim: string
  default_role: string
}

/** The session of the player at the issuer. */
export interface Session {
  issuer: Issuer
  /** True: the player came back from the issuer, but is not signed in. */
  failed: boolean
  /** Leave for the page of the issuer, and come back to this page. Throws if the issuer does not answer. */
  signIn: () => Promise<void>
  /** Get a new token without the player. False: the player must sign in again. */
  renew: () => Promise<boolean>
  signOut: () => Promise<void>
}

/** Not set: players bring their tokens. */
export const session = signal<Session | undefined>(undefined)

/** Return the issuer. Asks until the edge answers, so that no other way to sign in is offered meanwhile. */
export async function readIssuer(): Promise<Issuer | undefined> {
  for (;;) {
    const answer = await fetch("/sign-in.json").catch(() => undefined)
    if (answer?.status === 404) return undefined
    const found = answer?.ok ? ((await answer.json()) as Partial<Issuer>) : undefined
    if (found) return found.issuer ? (found as Issuer) : undefined
    await new Promise((resolve) => setTimeout(resolve, 1_000))
  }
}

/** Return the roles in the claims of a token, to show what the player can do. Only the service decides. */
export function rolesIn(claims: Record<string, unknown>): string[] {
  const { roles_claim: path, default_role: role } = session.value?.issuer ?? { roles_claim: "roles", default_role: "" }
  const step = (found: unknown, name: string): unknown => (found as Record<string, unknown> | undefined)?.[name]
  const listed = path in claims ? claims[path] : path.split(".").reduce(step, claims)
  if (Array.isArray(listed)) return listed
  return role ? [role] : []
}
