// SPDX-License-Identifier: UNLICENSED
pragma solidity ^0.8.28;

/// Roles, freezing and holders: what the issuer administrates beside the tokens.
abstract contract Register {
    event RoleChange(address indexed grantor, address indexed grantee, uint8 role, bool indexed status);
    event AddressFrozen(address indexed admin, address indexed addr, bool indexed status);
    event HolderCreated(uint256 indexed holderId, address indexed addr);
    event AppendHolderAddress(address indexed addr, uint256 indexed holderId);

    uint8 internal constant CONTRACT_ADMIN = 1;
    uint8 internal constant RESERVE_ADMIN = 2;
    uint8 internal constant WALLETS_ADMIN = 4;
    uint8 internal constant TRANSFER_ADMIN = 8;
    uint8 internal constant ALL_ROLES = 15;

    mapping(address => uint8) public roles;
    mapping(address => bool) public frozen;
    /// Holder of a wallet; 0 while it has none.
    mapping(address => uint256) public holderOf;
    uint256 public holderCount;

    modifier only(uint8 role) {
        require(roles[msg.sender] & role != 0, "role missing");
        _;
    }

    constructor() {
        roles[msg.sender] = ALL_ROLES;
        emit RoleChange(msg.sender, msg.sender, ALL_ROLES, true);
    }

    function grantRole(address grantee, uint8 role) external only(CONTRACT_ADMIN) {
        roles[grantee] |= role;
        emit RoleChange(msg.sender, grantee, role, true);
    }

    function revokeRole(address grantee, uint8 role) external only(CONTRACT_ADMIN) {
        roles[grantee] &= ~role;
        emit RoleChange(msg.sender, grantee, role, false);
    }

    function freeze(address addr, bool status) public only(WALLETS_ADMIN) {
        frozen[addr] = status;
        emit AddressFrozen(msg.sender, addr, status);
    }

    /// A second wallet of a known holder.
    function appendHolderAddress(address addr, uint256 holderId) external only(WALLETS_ADMIN) {
        require(holderOf[addr] == 0 && holderId > 0 && holderId <= holderCount, "cannot append");
        holderOf[addr] = holderId;
        emit AppendHolderAddress(addr, holderId);
    }

    /// A wallet that receives tokens for the first time becomes a holder.
    function welcome(address addr) internal virtual {
        if (holderOf[addr] != 0 || addr == address(this) || addr == address(0)) return;
        holderOf[addr] = ++holderCount;
        emit HolderCreated(holderCount, addr);
    }
}

/// Transfer groups: generations 2 to 4.
abstract contract TransferGroups is Register {
    event AddressTransferGroup(address indexed admin, address indexed addr, uint256 indexed value);
    event AllowGroupTransfer(
        address indexed admin,
        uint256 indexed fromGroup,
        uint256 indexed toGroup,
        uint256 lockedUntil
    );

    mapping(address => uint256) public getTransferGroup;
    mapping(uint256 => mapping(uint256 => uint256)) public getAllowGroupTransferTime;

    /// Recorded and logged, not enforced: see README.
    function setAllowGroupTransfer(
        uint256 from,
        uint256 to,
        uint256 lockedUntil
    ) external only(TRANSFER_ADMIN) {
        getAllowGroupTransferTime[from][to] = lockedUntil;
        emit AllowGroupTransfer(msg.sender, from, to, lockedUntil);
    }

    function moveToGroup(address addr, uint256 groupId) internal {
        getTransferGroup[addr] = groupId;
        emit AddressTransferGroup(msg.sender, addr, groupId);
    }
}
