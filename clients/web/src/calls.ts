/** Calls to the service: who calls, safe repetition, and refusals in words. */
import { createClient, Code, ConnectError, type Interceptor } from "@connectrpc/connect"
import { createGrpcWebTransport } from "@connectrpc/connect-web"
import { signal } from "@preact/signals"
import { ErrorInfoSchema, LocalizedMessageSchema, RetryInfoSchema } from "./gen/google/rpc/error_details_pb"
import { DisputeService } from "./gen/durak/v1/dispute_service_pb"
import { FeedService } from "./gen/durak/v1/feed_service_pb"
import { MatchService } from "./gen/durak/v1/match_service_pb"
import { PracticeService } from "./gen/durak/v1/practice_service_pb"
import { RulesService } from "./gen/durak/v1/rules_service_pb"
import { StandingsService } from "./gen/durak/v1/standings_service_pb"
import { WalletService } from "./gen/durak/v1/wallet_service_pb"
import { rolesIn, session } from "./session"
import { language } from "./settings"

export interface Player {
  id: string
  name: string
  roles: string[]
}

const TOKEN = "durak.token"
const REPEATS = 12
/** A new token that is refused so soon is not replaced by another one. */
const TOKEN_MS_MIN = 2_000
export const token = signal("")
/** True: the service refused the token. The player signs in again, and open tables go on. */
export const expired = signal(false)
let tokenTime = 0
let renewal: Promise<boolean> | undefined

/** Return the player that a token names. Only the service verifies tokens. */
export function playerOf(jwt: string): Player | undefined {
  try {
    const part = jwt.split(".")[1]!.replaceAll("-", "+").replaceAll("_", "/")
    const bytes = Uint8Array.from(atob(part), (it) => it.charCodeAt(0))
    const claims = JSON.parse(new TextDecoder().decode(bytes))
    if (typeof claims.sub !== "string") return undefined
    return { id: claims.sub, name: claims.name || claims.sub, roles: rolesIn(claims) }
  } catch {
    return undefined
  }
}

/** Sign in with a token that the player has, and keep it. */
export function signIn(jwt: string): boolean {
  if (!playerOf(jwt)) return false
  localStorage.setItem(TOKEN, jwt)
  useToken(jwt)
  return true
}

/** Use the token that `signIn` has kept. */
export function restoreToken(): void {
  useToken(localStorage.getItem(TOKEN) ?? "")
}

/** Call with this token from now on. */
export function useToken(jwt: string): void {
  token.value = jwt
  tokenTime = Date.now()
  expired.value = false
}

export function signOut(): void {
  localStorage.removeItem(TOKEN)
  useToken("")
  void session.value?.signOut()
}

const metadata: Interceptor = (next) => (request) => {
  request.header.set("accept-language", language.value)
  const isPublic = [PracticeService.typeName, RulesService.typeName].includes(request.service.typeName)
  if (token.value && !isPublic) request.header.set("authorization", `Bearer ${token.value}`)
  // A hint for the edge: calls of one match reach the replica that has it in memory.
  const { matchId } = request.message as { matchId?: unknown }
  if (typeof matchId === "string" && matchId) request.header.set("x-match-id", matchId)
  return next(request)
}

const transport = createGrpcWebTransport({ baseUrl: location.origin, interceptors: [metadata] })
export const matches = createClient(MatchService, transport)
export const disputes = createClient(DisputeService, transport)
export const feeds = createClient(FeedService, transport)
export const practice = createClient(PracticeService, transport)
export const rules = createClient(RulesService, transport)
export const standings = createClient(StandingsService, transport)
export const wallet = createClient(WalletService, transport)

/** The reason of a refusal. Empty: the connection broke, and no answer of the service came. */
export function reasonOf(error: unknown): string {
  return ConnectError.from(error).findDetails(ErrorInfoSchema)[0]?.reason ?? ""
}

/** The text of a refusal for the player. */
export function textOf(error: unknown): string {
  const found = ConnectError.from(error)
  return found.findDetails(LocalizedMessageSchema)[0]?.message ?? found.rawMessage
}

export const requestId = (): string => crypto.randomUUID()
export const pause = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds))

/**
 * Send a request until the service has answered it. A command carries its request id, so that it takes effect once,
 * however often it is sent. Throws the refusal.
 */
export async function answered<T>(send: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const used = token.value
    try {
      return await send()
    } catch (error) {
      if (await renewed(error, used)) continue
      const delay = attempt < REPEATS ? delayOf(error, attempt) : undefined
      if (delay === undefined) throw error
      await pause(delay)
    }
  }
}

/** How long to wait before the same request is sent again. Undefined: it must not be. */
function delayOf(error: unknown, attempt: number): number | undefined {
  const found = ConnectError.from(error)
  const named = found.findDetails(RetryInfoSchema)[0]?.retryDelay
  if (named) return Number(named.seconds) * 1000 + named.nanos / 1e6
  const reason = reasonOf(error)
  const again = reason === "" || reason === "CONTENTION" || found.code === Code.Unavailable
  return again ? Math.min(200 * 2 ** attempt, 5000) * (0.5 + Math.random() / 2) : undefined
}

/**
 * Return whether the request can be sent again, because there is a new token. `used` is the token that it carried.
 * Renews the token if it has expired. If this is not possible, the player is asked to sign in.
 */
export async function renewed(error: unknown, used: string): Promise<boolean> {
  if (ConnectError.from(error).code !== Code.Unauthenticated) return false
  if (token.value !== used) return token.value !== ""
  if (session.value && reasonOf(error) === "TOKEN_EXPIRED" && Date.now() - tokenTime > TOKEN_MS_MIN) {
    renewal ??= session.value.renew().finally(() => (renewal = undefined))
    if (await renewal) return true
  }
  expired.value = true
  return false
}
