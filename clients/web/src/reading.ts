/** Reading from the service in a page. */
import { useEffect, useState } from "preact/hooks"
import { answered, textOf } from "./calls"

/** Read once for each value of `keys`. Returns what was read, or the refusal in words. */
export function useRead<T>(read: () => Promise<T>, keys: unknown[]): { found?: T; problem?: string } {
  const [state, setState] = useState<{ found?: T; problem?: string }>({})
  useEffect(() => {
    let current = true
    answered(read).then(
      (found) => current && setState({ found }),
      (error) => current && setState({ problem: textOf(error) }),
    )
    return () => void (current = false)
  }, keys)
  return state
}
