/// What an account may do with a security token. Roles are types, so that other packages can add roles
/// of their own; only these five mean something here.
module security_token::roles;

/// Gives and takes roles.
public struct ContractAdmin {}

/// Mints and burns.
public struct ReserveAdmin {}

/// Keeps the holder register and its groups.
public struct WalletsAdmin {}

/// Freezes wallets and moves tokens against the owner's will.
public struct TransferAdmin {}

/// Cancels vesting grants.
public struct TimelockCanceler {}
